package io.github.optassign.broker;

import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.InputPolicy;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The broker's configs for the assignor. Invalid values count as not set, since the broker has to start.
 *
 * @param isWarmingUp whether a task stays on its process until the next process has restored its state
 * @param maxWarmups the maximum number of warm-ups at a time in a group
 * @param acceptableLag the lag up to which a copy counts as caught up, offsets
 * @param isWeighedByChangelog whether tasks are balanced by the sizes of their changelogs instead of by their number
 * @param service the service behind the planner, or null if none is configured
 * @param remarks messages on invalid values
 */
record BrokerConfig(
        boolean isWarmingUp,
        int maxWarmups,
        long acceptableLag,
        boolean isWeighedByChangelog,
        BrokerEndpoint service,
        List<String> remarks) {
    /**
     * The number of warm-ups of a group at a time if neither setting is given. Kafka's default of two makes a scale-out
     * slow, and disks restore some twenty copies at once without slowing down the tasks.
     */
    private static final int DEFAULT_WARMUPS = 20;

    static final String WARMUPS = "optassign.warmups";
    static final String MAX_WARMUPS = "optassign.max.warmup.replicas";
    static final String ACCEPTABLE_LAG = "optassign.acceptable.recovery.lag";
    static final String WEIGHTS = "optassign.weights";

    /** Kafka's keys for its own warm-ups; their values are the defaults of the assignor's keys. */
    private static final String KAFKA_MAX_WARMUPS = "group.streams.num.warmup.replicas";

    private static final String KAFKA_ACCEPTABLE_LAG = "group.streams.acceptable.recovery.lag";

    /**
     * The defaults. With Kafka's default of 2 warm-ups, a rebalance would take days, since no member requests a call
     * when warm-ups have caught up.
     */
    static final BrokerConfig DEFAULT =
            new BrokerConfig(true, DEFAULT_WARMUPS, InputPolicy.ACCEPTABLE_LAG, false, null, List.of());

    static BrokerConfig read(Map<String, ?> configs) {
        List<String> remarks = new ArrayList<>();
        long maxWarmups = readNumber(configs, KAFKA_MAX_WARMUPS, 1, Integer.MAX_VALUE, DEFAULT.maxWarmups, remarks);
        maxWarmups = readNumber(configs, MAX_WARMUPS, 1, Integer.MAX_VALUE, maxWarmups, remarks);
        long lag = readNumber(configs, KAFKA_ACCEPTABLE_LAG, 0, Long.MAX_VALUE, DEFAULT.acceptableLag, remarks);
        lag = readNumber(configs, ACCEPTABLE_LAG, 0, Long.MAX_VALUE, lag, remarks);
        boolean isWarmingUp =
                readWord(configs, WARMUPS, List.of("true", "false"), remarks).equals("true");
        BrokerEndpoint service = BrokerEndpoint.read(configs, remarks);
        boolean isWeighed = readWord(configs, WEIGHTS, List.of("none", "changelog"), remarks)
                .equals("changelog");
        return new BrokerConfig(isWarmingUp, (int) maxWarmups, lag, isWeighed, service, List.copyOf(remarks));
    }

    /** Returns the snapshot, with task weights by the changelogs' known ends if weights are configured. */
    Snapshot weigh(Snapshot snapshot, double[] knownEnds) {
        if (!isWeighedByChangelog) {
            return snapshot;
        }
        double[] weights = Weights.relativeToMean(knownEnds, new double[knownEnds.length]);
        return snapshot.withWeights(
                new Weights(weights, MeasuringPolicy.LOAD_TOLERANCE, MeasuringPolicy.LEAST_LOAD_GAIN));
    }

    /** Reads a word, ignoring case; by default the first allowed word. Adds a remark if the value is invalid. */
    private static String readWord(Map<String, ?> configs, String key, List<String> allowed, List<String> remarks) {
        String text = configs.get(key) == null
                ? allowed.get(0)
                : configs.get(key).toString().trim();
        String word = text.toLowerCase(Locale.ROOT);
        if (allowed.contains(word)) {
            return word;
        }
        remarks.add(
                key + ": found " + text + "; allowed: " + String.join(", ", allowed) + "; taken for " + allowed.get(0));
        return allowed.get(0);
    }

    /**
     * Reads a whole number. Adds a remark if the value is invalid.
     *
     * @return the default if the value is missing or invalid
     */
    static long readNumber(
            Map<String, ?> configs, String key, long least, long most, long defaultValue, List<String> remarks) {
        Object found = configs.get(key);
        if (found == null) {
            return defaultValue;
        }
        try {
            long number = Long.parseLong(found.toString().trim());
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // The remark below covers this case too.
        }
        remarks.add(key + ": found " + found + "; allowed: a whole number from " + least + " to " + most
                + "; taken for " + defaultValue);
        return defaultValue;
    }
}
