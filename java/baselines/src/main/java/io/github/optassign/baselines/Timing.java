package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.List;

/** The same rebalance several times, each on objects of its own, which are built outside of what is timed. */
record Timing(Answer answer, List<Double> seconds) {
    private static final double NANOS = 1e9;

    /** Calls that are not timed, then calls that are. The answer is that of the first timed call. */
    static Timing of(
            final Baseline baseline, final Application application, final int warmupCalls, final int timedCalls) {
        require(warmupCalls >= 0, "warmup_calls", warmupCalls, ">= 0");
        require(timedCalls >= 1, "timed_calls", timedCalls, ">= 1");
        for (int i = 0; i < warmupCalls; i++) {
            baseline.prepare(application).assign();
        }
        final List<Double> seconds = new ArrayList<>();
        Answer answer = null;
        for (int i = 0; i < timedCalls; i++) {
            final Baseline.Rebalance rebalance = baseline.prepare(application);
            final long start = System.nanoTime();
            rebalance.assign();
            seconds.add((System.nanoTime() - start) / NANOS);
            answer = answer == null ? rebalance.answer() : answer;
        }
        return new Timing(answer, seconds);
    }

    private static void require(final boolean right, final String field, final int found, final String allowed) {
        if (!right) {
            throw new IllegalArgumentException(field + ": found " + found + "; allowed: " + allowed);
        }
    }
}
