package io.github.optassign.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.ClientProfile;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Evidence;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Pace;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Traits;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.service.AnswerWriter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A server of the planner for the benchmarks in Python. It reads snapshots of format 1, one JSON object per line. Each
 * line of output has the answer and the planner's time in nanoseconds, or an error.
 */
public final class PlannerServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private PlannerServer() {}

    /** Answers requests until the input ends. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        SnapshotWeights weights = new SnapshotWeights();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = answer(JSON.readTree(line), weights);
            } catch (RuntimeException e) {
                answer = JSON.writeValueAsString(Map.of("error", e.toString()));
            }
            answers.println(answer);
            answers.flush();
        }
    }

    static String answer(JsonNode state, SnapshotWeights weights) throws Exception {
        Snapshot counted = read(state);
        AppliedAnswer applied = state.path("remembered").isObject() ? readRemembered(state, counted) : null;
        Timing timing = readTiming(state);
        Snapshot snapshot = weights.weigh(state, counted, timing);
        long start = System.nanoTime();
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, timing);
        long nanos = System.nanoTime() - start;
        result = weights.waitForRates(state, result, timing);
        String answer =
                AnswerWriter.write(RebalancePlanner.toAnswer(snapshot, result), result.stalled(), result.toBalanceMs());
        return "{\"nanos\": " + nanos + ", \"answer\": " + answer + "}";
    }

    private static Timing readTiming(JsonNode state) {
        JsonNode takenAt = state.path("taken_at");
        if (!takenAt.isTextual()) {
            return Timing.NONE;
        }
        JsonNode options = state.path("options");
        JsonNode offload = options.path("relief");
        Timing.Prices defaults = Timing.Prices.DEFAULT;
        return new Timing(
                readMs(takenAt),
                options.path("followup").asText().equals("interval"),
                new Timing.Prices(
                        offload.path("stateless").asLong(defaults.stateless()),
                        offload.path("logged").asLong(defaults.logged())));
    }

    static Snapshot read(JsonNode state) {
        JsonNode configs = state.get("configs");
        GroupConfigs groupConfigs = new GroupConfigs(
                configs.path("acceptable_recovery_lag").asLong(10_000),
                configs.path("max_warmup_replicas").asInt(2),
                configs.path("num_standby_replicas").asInt(0),
                configs.path("probing_rebalance_interval_ms").asLong(600_000),
                false,
                false);
        SnapshotBuilder builder =
                new SnapshotBuilder(groupConfigs, readTexts(configs.path("rack_aware_assignment_tags")));
        for (JsonNode task : state.get("tasks")) {
            String id = task.get("id").asText();
            int separator = id.lastIndexOf('_');
            boolean stateful = task.path("stateful").asBoolean();
            builder.addTask(
                    id.substring(0, separator),
                    Integer.parseInt(id.substring(separator + 1)),
                    stateful,
                    task.path("logged").asBoolean(stateful),
                    task.path("changelog_end_offset").asLong(-1));
        }
        for (JsonNode client : state.get("clients")) {
            readClient(
                    client,
                    builder.addClient(
                            client.get("process_id").asText(),
                            client.get("threads").asInt()));
        }
        return builder.build();
    }

    private static void readClient(JsonNode json, SnapshotBuilder.Client client) {
        client.capacity(Math.round(json.path("capacity").asDouble(1) * Traits.UNITS));
        if (json.path("draining").asBoolean()) {
            client.drains();
        }
        readTexts(json.path("previous_active")).forEach(client::owns);
        readTexts(json.path("previous_standby")).forEach(client::holds);
        json.path("tags")
                .properties()
                .forEach(tag -> client.tag(tag.getKey(), tag.getValue().asText()));
        json.path("lags").properties().forEach(lag -> {
            long offsets = lag.getValue().asLong();
            if (offsets == Snapshot.RUNNING) {
                client.runs(lag.getKey());
            } else {
                client.lags(lag.getKey(), offsets);
            }
        });
    }

    /**
     * Reads the remembered answer. Its clients get the profiles that they have in the snapshot, or none if they are
     * gone.
     */
    private static AppliedAnswer readRemembered(JsonNode state, Snapshot snapshot) {
        JsonNode json = state.get("remembered");
        List<Answer.Progress> progress = new ArrayList<>();
        for (JsonNode copy : json.path("report").path("warmup_progress")) {
            progress.add(new Answer.Progress(
                    copy.get("task").asText(),
                    copy.get("process_id").asText(),
                    copy.path("lag").asLong(-1),
                    copy.path("answers_without_progress").asInt(),
                    copy.path("under_way_ms").asLong()));
        }
        List<Answer.Client> plan = json.path("plan").isArray() ? readClients(json.get("plan")) : null;
        List<Answer.Client> clients = readClients(json.get("clients"));
        Map<String, ClientProfile> now = ClientProfile.listByClient(snapshot);
        Map<String, ClientProfile> profiles = new HashMap<>();
        clients.forEach(client -> profiles.put(client.processId(), now.get(client.processId())));
        Pace pace = readPace(json.path("report").path("pace"));
        Answer answer = new Answer(json.path("assignor").asText(), clients, plan, progress, pace, "");
        return new AppliedAnswer("", 0, answer, profiles, Map.of(), 0, !answer.isByPlanner());
    }

    private static Pace readPace(JsonNode json) {
        if (!json.isObject()) {
            return null;
        }
        Map<String, Pace.Restored> clients = new HashMap<>();
        for (JsonNode client : json.path("clients")) {
            clients.put(
                    client.get("process_id").asText(),
                    new Pace.Restored(
                            client.get("offsets").asLong(),
                            client.get("ms").asLong(),
                            Evidence.of(client.path("evidence").asText())));
        }
        JsonNode countedAt = json.path("counted_at");
        return new Pace(
                readMs(json.get("taken_at")),
                clients,
                json.path("looks").asInt(),
                countedAt.isTextual() ? readMs(countedAt) : -1);
    }

    private static long readMs(JsonNode time) {
        return Instant.parse(time.asText()).toEpochMilli();
    }

    private static List<Answer.Client> readClients(JsonNode json) {
        List<Answer.Client> clients = new ArrayList<>();
        for (JsonNode client : json) {
            JsonNode followupMs = client.path("followup_rebalance_ms");
            clients.add(new Answer.Client(
                    client.get("process_id").asText(),
                    readTexts(client.path("active")),
                    readTexts(client.path("standby")),
                    readTexts(client.path("warmup")),
                    followupMs.isNumber() ? followupMs.asLong() : null));
        }
        return clients;
    }

    private static List<String> readTexts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
