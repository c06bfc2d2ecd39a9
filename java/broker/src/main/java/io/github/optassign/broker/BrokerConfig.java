package io.github.optassign.broker;

import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.BrokerPolicy;
import io.github.optassign.policy.InputPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The broker's own configs that concern the assignor. Unreadable values count as not set: a broker must start.
 *
 * @param isWarmingUp whether a task stays where it is until its state is where it goes
 * @param maxWarmups how many copies may be warmed up at a time, in each group
 * @param acceptableLag offsets; who lags by no more is caught up
 * @param isWeighedByChangelog whether load is balanced, a task weighing what its changelog does, and not numbers of
 *     tasks
 * @param service the service behind the planner; null: there is none
 * @param remarks what was found that is not allowed, each in words
 */
record BrokerConfig(
        boolean isWarmingUp,
        int maxWarmups,
        long acceptableLag,
        boolean isWeighedByChangelog,
        BrokerEndpoint service,
        List<String> remarks) {
    static final String WARMUPS = "optassign.warmups";
    static final String MAX_WARMUPS = "optassign.max.warmup.replicas";
    static final String ACCEPTABLE_LAG = "optassign.acceptable.recovery.lag";
    static final String WEIGHTS = "optassign.weights";

    /** Kafka's own keys, for warm-ups of its own: what an operator has set there is meant here, too. */
    private static final String KAFKAS_MAX_WARMUPS = "group.streams.num.warmup.replicas";

    private static final String KAFKAS_ACCEPTABLE_LAG = "group.streams.acceptable.recovery.lag";

    /**
     * The configs of a broker that sets none. Kafka's 2 would take days: here no member asks for the next call as soon
     * as they are done.
     */
    static final BrokerConfig DEFAULT =
            new BrokerConfig(true, BrokerPolicy.WARMUPS, InputPolicy.ACCEPTABLE_LAG, false, null, List.of());

    static BrokerConfig read(Map<String, ?> configs) {
        List<String> remarks = new ArrayList<>();
        long maxWarmups = readNumber(configs, KAFKAS_MAX_WARMUPS, 1, Integer.MAX_VALUE, DEFAULT.maxWarmups, remarks);
        maxWarmups = readNumber(configs, MAX_WARMUPS, 1, Integer.MAX_VALUE, maxWarmups, remarks);
        long lag = readNumber(configs, KAFKAS_ACCEPTABLE_LAG, 0, Long.MAX_VALUE, DEFAULT.acceptableLag, remarks);
        lag = readNumber(configs, ACCEPTABLE_LAG, 0, Long.MAX_VALUE, lag, remarks);
        boolean isWarmingUp = readSwitch(configs, remarks);
        BrokerEndpoint service = BrokerEndpoint.read(configs, remarks);
        boolean isWeighed = readWeights(configs, remarks);
        return new BrokerConfig(isWarmingUp, (int) maxWarmups, lag, isWeighed, service, List.copyOf(remarks));
    }

    private static boolean readWeights(Map<String, ?> configs, List<String> remarks) {
        Object found = configs.get(WEIGHTS);
        String text = found == null ? "none" : found.toString().trim();
        if (!text.equals("none") && !text.equals("changelog")) {
            remarks.add(WEIGHTS + ": found " + text + "; allowed: none, changelog; taken for none");
        }
        return text.equals("changelog");
    }

    /** The snapshot with what its tasks weigh, where that is asked for. */
    Snapshot weigh(Snapshot snapshot) {
        if (!isWeighedByChangelog) {
            return snapshot;
        }
        double[] known = new double[snapshot.taskCount()];
        for (int t = 0; t < known.length; t++) {
            known[t] = snapshot.endOffset(t);
        }
        double[] weights = Weights.relate(known, new double[known.length]);
        return snapshot.weighed(new Weights(weights, InputPolicy.LOAD_TOLERANCE, InputPolicy.LEAST_LOAD_GAIN));
    }

    private static boolean readSwitch(Map<String, ?> configs, List<String> remarks) {
        Object found = configs.get(WARMUPS);
        String text = found == null ? "true" : found.toString().trim();
        if (!text.equalsIgnoreCase("true") && !text.equalsIgnoreCase("false")) {
            remarks.add(WARMUPS + ": found " + text + "; allowed: true, false; taken for true");
        }
        return !text.equalsIgnoreCase("false");
    }

    /** Reads a whole number; what cannot be read is remarked upon. */
    static long readNumber(
            Map<String, ?> configs, String key, long least, long most, long otherwise, List<String> remarks) {
        Object found = configs.get(key);
        if (found == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(found.toString().trim());
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, as of any number that is not allowed.
        }
        remarks.add(key + ": found " + found + "; allowed: a whole number from " + least + " to " + most
                + "; taken for " + otherwise);
        return otherwise;
    }
}
