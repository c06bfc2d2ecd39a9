package io.github.optassign.step;

import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.OffloadPolicy;
import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A stage of warm-ups: the time for which clients restore before other copies get slots, so that clients which lack
 * actives get some soon (docs/reference/rules.md, "Warm-ups", "Staged warm-ups").
 */
final class WarmupStage {
    /** All slots are filled. */
    static final double NONE = Double.POSITIVE_INFINITY;

    private WarmupStage() {}

    /**
     * Finds the seconds within which the copies that get slots must be restored.
     *
     * @param seconds per client the seconds of each planned active that needs a slot there
     * @return {@link #NONE} where slots are better filled
     */
    static double find(Snapshot snapshot, Placement answer, Map<Integer, List<Double>> seconds) {
        long[] lack = countLacking(snapshot, answer);
        if (LongStream.of(lack).max().orElse(0) < WarmupPolicy.LEAST_LACK) {
            return NONE;
        }
        List<Double> ends = new ArrayList<>();
        double longest = 0;
        for (int c = 0; c < lack.length; c++) {
            if (lack[c] > 0) {
                double end = 0;
                long there = 0;
                for (double each :
                        seconds.getOrDefault(c, List.of()).stream().sorted().toList()) {
                    end += each;
                    if (there++ < lack[c]) {
                        ends.add(end);
                    }
                }
                longest = Math.max(longest, end);
            }
        }
        if (ends.isEmpty()) {
            return NONE;
        }
        ends.sort(null);
        return choose(ends, longest);
    }

    /** Returns the end of a first stage that minimises the integral of missing actives over time. */
    private static double choose(List<Double> ends, double longest) {
        int missing = ends.size();
        double last = ends.get(missing - 1);
        double best = NONE;
        double least = Double.POSITIVE_INFINITY;
        for (int k = 0; k < missing; k++) {
            double end = ends.get(k);
            double missed = missing * end + (missing - 1 - k) * (last - end);
            if (missed < least) {
                least = missed;
                best = end;
            }
        }
        if (missing * last - least >= OffloadPolicy.STATELESS_S) {
            return best;
        }
        return missing * (longest - last) >= OffloadPolicy.STATELESS_S ? last : NONE;
    }

    /**
     * Returns per client how many active tasks it lacks that only restored copies can bring, with every stateless task
     * on the clients that lack most; no client lacks any while none has too many.
     */
    private static long[] countLacking(Snapshot snapshot, Placement answer) {
        long[] lack = new long[snapshot.clientCount()];
        if (Arrays.stream(Balance.measureRoom(snapshot, answer)).allMatch(room -> room >= 0)) {
            return lack;
        }
        long[] low = Shares.ofActives(snapshot).low();
        int[] stateful = new int[lack.length];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            stateful[answer.active()[t]] += snapshot.isStateful(t) ? 1 : 0;
        }
        Arrays.setAll(lack, c -> Math.max(0, low[c] - stateful[c]));
        long stateless = snapshot.taskCount() - Arrays.stream(stateful).sum();
        for (long left = Math.min(stateless, Arrays.stream(lack).sum()); left > 0; left--) {
            int most = IntStream.range(0, lack.length).reduce(0, (one, other) -> lack[other] > lack[one] ? other : one);
            lack[most]--;
        }
        return lack;
    }
}
