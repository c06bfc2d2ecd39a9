package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.List;

/**
 * The answer of a Kafka class, and how long it took.
 *
 * @param seconds of each timed call, of Kafka's call alone
 */
record BaselineTiming(BaselineAnswer answer, List<Double> seconds) {
    private static final double NANOS = 1e9;

    /**
     * Makes calls that are not timed, then calls that are, each on objects of its own that are built before. The answer
     * is that of the first timed call.
     */
    static BaselineTiming measure(Baseline baseline, BaselineApplication application, int warmupCalls, int timedCalls) {
        require(warmupCalls >= 0, "warmup_calls", warmupCalls, ">= 0");
        require(timedCalls >= 1, "timed_calls", timedCalls, ">= 1");
        for (int i = 0; i < warmupCalls; i++) {
            baseline.prepare(application).assign();
        }
        List<Double> seconds = new ArrayList<>();
        BaselineAnswer answer = null;
        for (int i = 0; i < timedCalls; i++) {
            Baseline.Rebalance rebalance = baseline.prepare(application);
            long start = System.nanoTime();
            rebalance.assign();
            seconds.add((System.nanoTime() - start) / NANOS);
            answer = answer == null ? rebalance.answer() : answer;
        }
        return new BaselineTiming(answer, seconds);
    }

    private static void require(boolean right, String field, int found, String allowed) {
        if (!right) {
            throw new IllegalArgumentException(field + ": found " + found + "; allowed: " + allowed);
        }
    }
}
