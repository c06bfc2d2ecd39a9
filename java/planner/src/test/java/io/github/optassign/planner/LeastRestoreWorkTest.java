package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.testing.Cases;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The restore work of plans, compared with the least of all plans of small groups. */
class LeastRestoreWorkTest {
    private static SnapshotBuilder builder(int standbys) {
        return new SnapshotBuilder(new GroupConfigs(0, 2, standbys, 600_000, false, false), List.of());
    }

    private static Placement plan(Snapshot snapshot) {
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
        return result.plan() == null ? result.placement() : result.plan();
    }

    /** A new client gets copies of the tasks with the least state, whatever their order. */
    @Test
    void aNewClientRestoresTheSmallestTasks() {
        for (boolean smallestFirst : new boolean[] {true, false}) {
            SnapshotBuilder builder = builder(1);
            SnapshotBuilder.Client one = builder.addClient("a", 1);
            SnapshotBuilder.Client other = builder.addClient("b", 1);
            builder.addClient("c", 1);
            for (int partition = 0; partition < 6; partition++) {
                long end = 100_000L * (smallestFirst ? partition + 1 : 6 - partition);
                String task = builder.addTask("0", partition, true, true, end);
                (partition % 2 == 0 ? one : other).runs(task);
                (partition % 2 == 0 ? other : one).holds(task).lags(task, 0);
            }
            Snapshot snapshot = builder.build();
            Placement plan = plan(snapshot);
            RestoreWork work = RestoreWork.of(snapshot, plan);
            assertEquals(100_000 + 200_000 + 300_000 + 400_000, work.offsets(), "smallest first: " + smallestFirst);
            assertEquals(0, plan.imbalance(snapshot));
        }
    }

    /** Returns three clients with random state of two subtopologies; the first has {@code first} tasks. */
    private static Snapshot scatterState(int standbys, int tasks, int first, Random random) {
        SnapshotBuilder builder = builder(standbys);
        List<SnapshotBuilder.Client> clients = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            clients.add(builder.addClient(name, 1));
        }
        for (int t = 0; t < tasks; t++) {
            String subtopology = t < first ? "0" : "1";
            String task = builder.addTask(subtopology, t % first, true, true, 1_000 + random.nextInt(100_000));
            int owner = random.nextInt(3);
            clients.get(owner).runs(task);
            int holder = random.nextInt(3);
            if (holder != owner) {
                clients.get(holder).holds(task).lags(task, random.nextInt(1_000));
            }
        }
        return builder.build();
    }

    /** Tries all balanced plans of three clients and six tasks without standbys, with random state. */
    @Test
    void noBalancedPlanWithoutStandbysRestoresLess() {
        for (int seed = 0; seed < 200; seed++) {
            Snapshot snapshot = scatterState(0, 6, 4, new Random(seed));
            long least = Long.MAX_VALUE;
            for (int code = 0; code < 729; code++) {
                Placement tried = Placement.empty(6);
                for (int t = 0, rest = code; t < 6; t++, rest /= 3) {
                    tried.active()[t] = rest % 3;
                }
                if (tried.imbalance(snapshot) == 0) {
                    least = Math.min(least, RestoreWork.of(snapshot, tried).offsets());
                }
            }
            Placement plan = plan(snapshot);
            assertEquals(least, RestoreWork.of(snapshot, plan).offsets(), "seed " + seed);
            assertEquals(0, plan.imbalance(snapshot), "seed " + seed);
        }
    }

    /** Tries all plans of three clients and five tasks with a standby each, with random state. */
    @Test
    void plansWithStandbysAreBalancedAndRestoreHardlyMoreThanTheLeast() {
        long restored = 0;
        long leastOfAll = 0;
        for (int seed = 0; seed < Cases.count(10); seed++) {
            Snapshot snapshot = scatterState(1, 5, 3, new Random(seed));
            long leastImbalance = Long.MAX_VALUE;
            long least = Long.MAX_VALUE;
            for (int code = 0; code < 7_776; code++) {
                Placement tried = Placement.empty(5);
                for (int t = 0, rest = code; t < 5; t++, rest /= 6) {
                    tried.active()[t] = rest % 3;
                    tried.addStandby(t, (rest % 3 + 1 + rest / 3 % 2) % 3);
                }
                long imbalance = tried.imbalance(snapshot);
                if (imbalance <= leastImbalance) {
                    long offsets = RestoreWork.of(snapshot, tried).offsets();
                    least = imbalance < leastImbalance ? offsets : Math.min(least, offsets);
                    leastImbalance = imbalance;
                }
            }
            Placement plan = plan(snapshot);
            assertEquals(leastImbalance, plan.imbalance(snapshot), "seed " + seed);
            restored += RestoreWork.of(snapshot, plan).offsets();
            leastOfAll += least;
        }
        assertTrue(restored <= 1.01 * leastOfAll, restored + " offsets where " + leastOfAll + " would do");
    }

    /** A quarter of the clients are new, and get their share of copies of each subtopology. */
    @Test
    void copiesOfEachSubtopologyAreInTheirSharesAfterAScaleOut() {
        for (int seed = 0; seed < 10; seed++) {
            Random random = new Random(seed);
            SnapshotBuilder builder = builder(1);
            List<SnapshotBuilder.Client> clients = new ArrayList<>();
            for (int c = 0; c < 20; c++) {
                clients.add(builder.addClient("client-" + (char) ('a' + c), 1));
            }
            for (int t = 0; t < 300; t++) {
                String task =
                        builder.addTask("" + t / 30, t % 30, true, true, (long) Math.exp(11 + random.nextGaussian()));
                int owner = t % 15;
                clients.get(owner).runs(task);
                int standby = (owner + 1 + random.nextInt(14)) % 15;
                clients.get(standby).holds(task).lags(task, 0);
            }
            Snapshot snapshot = builder.build();
            assertEquals(0, plan(snapshot).imbalance(snapshot), "seed " + seed);
        }
    }
}
