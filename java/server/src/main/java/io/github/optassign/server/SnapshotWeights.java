package io.github.optassign.server;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.optassign.learn.InputRates;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Weights;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.HashMap;
import java.util.Map;

/**
 * The weights of a snapshot's tasks, computed as by the plug-in without a service (docs/reference/rules.md, "Balanced
 * under load"). Input rates are kept between snapshots of an application that have a remembered answer.
 */
final class SnapshotWeights {
    private static final String RATES = "rates";
    private String application = "";
    private InputRates rates = new InputRates();

    /** Returns the snapshot with task weights by its options. */
    Snapshot weigh(JsonNode state, Snapshot snapshot, Timing timing) {
        JsonNode options = state.path("options");
        String weighBy = options.path("weigh_by").asText("given");
        Map<String, JsonNode> tasks = new HashMap<>();
        state.get("tasks").forEach(task -> tasks.put(task.get("id").asText(), task));
        double[] known = weighBy.equals(RATES) ? measure(state, snapshot, tasks, timing) : new double[tasks.size()];
        double[] fixed = new double[known.length];
        for (int t = 0; t < known.length; t++) {
            String name = snapshot.taskName(t);
            double given =
                    weighBy.equals("given") ? tasks.get(name).path("weight").asDouble(1) : 0;
            if (!weighBy.equals(RATES)) {
                known[t] = weighBy.equals("changelog") ? snapshot.endOffset(t) : -1;
            }
            JsonNode named = options.path("task_weights");
            double ofSubtopology =
                    named.path(name.substring(0, name.lastIndexOf('_'))).asDouble(given);
            fixed[t] = named.path(name).asDouble(ofSubtopology);
        }
        return snapshot.withWeights(new Weights(
                Weights.relativeToMean(known, fixed),
                options.path("load_tolerance").asDouble(MeasuringPolicy.LOAD_TOLERANCE),
                options.path("min_gain").asDouble(MeasuringPolicy.LEAST_LOAD_GAIN)));
    }

    /** Returns the result, with a follow-up at the time when input rates are known if it has no other follow-up. */
    RebalancePlanner.Result waitForRates(JsonNode state, RebalancePlanner.Result result, Timing timing) {
        boolean isWeighedByRates =
                state.path("options").path("weigh_by").asText().equals(RATES);
        long waitMs = isWeighedByRates && result.followupMs() < 0 ? rates.findWaitMs(timing.takenAtMs()) : 0;
        return waitMs > 0 ? result.withFollowup(Timing.clampFollowupMs(waitMs)) : result;
    }

    private double[] measure(JsonNode state, Snapshot snapshot, Map<String, JsonNode> tasks, Timing timing) {
        String now = state.path("application").asText();
        if (!now.equals(application) || !state.path("remembered").isObject()) {
            application = now;
            rates = new InputRates();
        }
        long[] ends = new long[tasks.size()];
        for (int t = 0; t < ends.length; t++) {
            ends[t] = tasks.get(snapshot.taskName(t)).path("source_end_offset").asLong();
        }
        rates.measure(snapshot, ends, timing.takenAtMs());
        return rates.find(snapshot);
    }
}
