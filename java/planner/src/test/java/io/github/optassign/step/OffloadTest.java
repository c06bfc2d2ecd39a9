package io.github.optassign.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Timing;
import io.github.optassign.planner.RebalancePlanner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Temporary offload: two clients have eight logged and four stateless tasks, and a third has just joined. */
class OffloadTest {
    private static final long NOON = 1_767_268_800_000L;
    private static final int LOGGED = 8;

    private static Snapshot joined(int standbys, boolean looseBalance) {
        SnapshotBuilder builder =
                new SnapshotBuilder(new GroupConfigs(100, 1, standbys, 600_000, looseBalance, false), List.of());
        List<String> tasks = new ArrayList<>();
        for (int partition = 0; partition < LOGGED; partition++) {
            tasks.add(builder.addTask("0", partition, true, true, 1_000_000));
        }
        for (int partition = 0; partition < 4; partition++) {
            tasks.add(builder.addTask("1", partition, false, false, -1));
        }
        for (int c = 0; c < 2; c++) {
            SnapshotBuilder.Client client = builder.addClient("client-" + c, 1);
            for (int t = 0; t < tasks.size(); t++) {
                if (t % 2 != c) {
                    if (t < LOGGED && standbys > 0) {
                        client.holds(tasks.get(t)).lags(tasks.get(t), 0);
                    }
                } else if (t < LOGGED) {
                    client.runs(tasks.get(t));
                } else {
                    client.owns(tasks.get(t));
                }
            }
        }
        builder.addClient("client-2", 1);
        return builder.build();
    }

    /** Returns the result with follow-ups by interval, ten minutes apart. */
    private static RebalancePlanner.Result answer(Snapshot snapshot, Timing.Prices prices) {
        return RebalancePlanner.answer(snapshot, null, RackTraffic.NONE, new Timing(NOON, true, prices));
    }

    private static int[] count(Placement answer) {
        int[] counts = new int[3];
        Arrays.stream(answer.active()).forEach(c -> counts[c]++);
        return counts;
    }

    @Test
    void statelessTasksGoWhereLoadIsMissing() {
        RebalancePlanner.Result result = answer(joined(0, false), Timing.Prices.DEFAULT);
        assertArrayEquals(new int[] {4, 4, 4}, count(result.placement()));
        assertTrue(
                IntStream.range(0, LOGGED).noneMatch(t -> result.placement().active()[t] == 2), "it has no state yet");
        Placement plan = answer(joined(0, false), Timing.Prices.NO_OFFLOAD).plan();
        assertTrue(plan.hasSameCopies(result.plan()), "the plan is what it would be");
        assertTrue(result.toBalanceMs() >= 600_000, "one follow-up at least");
    }

    @Test
    void nobodyIsRelievedWhereThatIsTurnedOff() {
        int[] counts = count(answer(joined(0, false), Timing.Prices.NO_OFFLOAD).placement());
        assertTrue(counts[2] < 4 && Math.max(counts[0], counts[1]) > 4, Arrays.toString(counts));
    }

    @Test
    void numbersSayNothingWherePlansMayBeOutOfTheirShares() {
        Placement without = answer(joined(0, true), Timing.Prices.NO_OFFLOAD).placement();
        assertArrayEquals(
                without.active(),
                answer(joined(0, true), Timing.Prices.DEFAULT).placement().active());
    }

    /** A move has to save its cost; here it costs as many seconds as remain to the plan, the most it can save. */
    @Test
    void whatLastsForAMomentIsLeftAlone() {
        long toBalance = answer(joined(0, false), Timing.Prices.DEFAULT).toBalanceMs() / 1_000;
        Placement without = answer(joined(0, false), Timing.Prices.NO_OFFLOAD).placement();
        Placement dear = answer(joined(0, false), new Timing.Prices(toBalance, toBalance))
                .placement();
        assertArrayEquals(without.active(), dear.active());
    }

    /** The former active of an offloaded task becomes a standby, so copies are where they would be without offload. */
    @Test
    void noCopyIsAnywhereElse() {
        Placement without = answer(joined(1, false), Timing.Prices.NO_OFFLOAD).placement();
        Placement with = answer(joined(1, false), new Timing.Prices(1, 1)).placement();
        for (int t = 0; t < LOGGED; t++) {
            assertEquals(copies(without, t), copies(with, t));
        }
    }

    private static List<Integer> copies(Placement placement, int t) {
        return IntStream.concat(
                        IntStream.of(placement.active()[t]),
                        Arrays.stream(placement.standby()[t]))
                .sorted()
                .boxed()
                .toList();
    }
}
