package io.github.optassign.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.planner.RebalancePlanner;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tasks without state on any client are down until they are restored, so plans spread them over clients. */
class DowntimeTest {
    /** No exchange of a lost task with another lost or moving task would lower the sum of cubed downtimes. */
    @Test
    void noExchangeWouldBringThemBackSooner() {
        int tried = 0;
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 5, 0, 600_000, false, false), List.of());
            List<SnapshotBuilder.Client> clients = new ArrayList<>();
            for (int c = 0; c < 5; c++) {
                clients.add(builder.addClient("client-" + c, 1));
            }
            boolean[] isLost = new boolean[30];
            long[] end = new long[30];
            for (int t = 0; t < 30; t++) {
                end[t] = 1_000 + random.nextInt(100_000);
                String task = builder.addTask("0", t, true, true, end[t]);
                isLost[t] = random.nextInt(3) == 0;
                if (!isLost[t]) {
                    clients.get(random.nextInt(2)).runs(task);
                }
            }
            Snapshot snapshot = builder.build();
            RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
            Placement plan = result.plan() == null ? result.placement() : result.plan();
            assertEquals(0, plan.imbalance(snapshot), "seed " + seed);
            int[] active = plan.active().clone();
            double now = measure(active, isLost, end);
            for (int t = 0; t < 30; t++) {
                for (int u = 0; u < 30; u++) {
                    boolean isCold = isLost[u] || !snapshot.wasActive(u, active[u]);
                    if (isLost[t] && isCold && active[t] != active[u] && !snapshot.wasActive(u, active[t])) {
                        tried++;
                        swap(active, t, u);
                        double then = measure(active, isLost, end);
                        swap(active, t, u);
                        assertTrue(then >= now * (1 - 1e-5), "seed " + seed + ": " + t + " and " + u);
                    }
                }
            }
        }
        assertTrue(tried > 1_000, "hardly an exchange is possible: " + tried);
    }

    private static void swap(int[] active, int t, int u) {
        int there = active[u];
        active[u] = active[t];
        active[t] = there;
    }

    /**
     * Returns the sum of the cubed downtimes of lost tasks, s³, at one offset a second. Lost tasks on a client share
     * its rate evenly.
     */
    private static double measure(int[] active, boolean[] isLost, long[] end) {
        double sum = 0;
        for (int t = 0; t < active.length; t++) {
            double seconds = 0;
            for (int u = 0; u < active.length; u++) {
                seconds += isLost[t] && isLost[u] && active[t] == active[u] ? Math.min(end[t], end[u]) : 0;
            }
            sum += seconds * seconds * seconds;
        }
        return sum;
    }
}
