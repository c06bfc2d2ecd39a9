package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.List;

/**
 * The answer of a Kafka class, and the times of its calls.
 *
 * @param seconds the time of Kafka's code in each timed call, s
 */
record BaselineTiming(BaselineAnswer answer, List<Double> seconds) {
    private static final double NANOS = 1e9;

    /**
     * Makes untimed calls, then timed calls, each with newly built arguments. Returns the answer of the first timed
     * call.
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

    private static void require(boolean isValid, String field, int found, String allowed) {
        if (!isValid) {
            throw new IllegalArgumentException(field + ": found " + found + "; allowed: " + allowed);
        }
    }
}
