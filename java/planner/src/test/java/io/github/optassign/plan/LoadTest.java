package io.github.optassign.plan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Traits;
import io.github.optassign.model.Weights;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.TestGroup;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Balance by weight without a service: unequal tasks are balanced, and drifting weights move few tasks. */
class LoadTest {
    @Test
    void newGroupsAreEven() {
        for (int[] size : new int[][] {{100, 10}, {250, 25}, {1_000, 100}}) {
            for (int seed = 0; seed < 5; seed++) {
                double[] weights = drawWeights(new Random(seed), size[0]);
                SnapshotBuilder builder =
                        new SnapshotBuilder(new GroupConfigs(0, 2, 0, 600_000, false, false), List.of());
                IntStream.range(0, size[0]).forEach(t -> builder.addTask("0", t, false, false, -1));
                IntStream.range(0, size[1]).forEach(c -> builder.addClient(String.format("client-%03d", c), 2));
                Snapshot snapshot = builder.build().withWeights(new Weights(weights, 0.05, 0.05));
                Placement answer = RebalancePlanner.answer(snapshot, null).placement();
                Loads loads = new Loads(snapshot, snapshot.weights());
                double ratio = loads.greatestLoad(answer.active()) / loads.lowerBound();
                assertTrue(ratio <= 1.03, size[0] + " x " + size[1] + ", seed " + seed + ": " + ratio);
                assertEquals(0, loads.countIdleThreads(answer.active()));
            }
        }
    }

    /** Returns weights with most of the load on a few tasks, as with keys in practice. */
    private static double[] drawWeights(Random random, int tasks) {
        double[] known =
                random.doubles(tasks).map(x -> Math.pow(x + 0.05, -0.8)).toArray();
        return Weights.relativeToMean(known, new double[tasks]);
    }

    /** A drift of weights moves a task only if that lowers the greatest load by the least gain; R11 keeps the plan. */
    @Test
    void driftMovesFewTasksAndEveryGroupComesToRest() {
        for (int seed = 0; seed < 30; seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.of(3 + random.nextInt(4));
            group.tasks(0, 30, TestGroup.Kind.LOGGED, 100_000).tasks(1, 12, TestGroup.Kind.STATELESS, 0);
            group.standbys = random.nextInt(2);
            double[] weights = drawWeights(random, 42);
            AppliedAnswer applied = converge(group, weights, null);
            Snapshot rested = group.snapshot().withWeights(new Weights(weights, 0.05, 0.05));
            RebalancePlanner.Result again = RebalancePlanner.answer(rested, applied);
            assertEquals(-1, again.followupMs(), "seed " + seed);
            assertEquals(0, countMoved(rested, again.placement()), "seed " + seed + ": at rest");
            double[] drifted = IntStream.range(0, 42)
                    .mapToDouble(t -> weights[t] * (0.99 + 0.02 * random.nextDouble()))
                    .toArray();
            Snapshot later = group.snapshot().withWeights(new Weights(drifted, 0.05, 0.05));
            assertEquals(
                    0,
                    countMoved(later, RebalancePlanner.answer(later, applied).placement()),
                    "seed " + seed + ": a hundredth is not worth a move");
        }
    }

    /** Hot tasks weigh ten times as much; only many clients together can take over those of lost clients. */
    @Test
    void hotTasksOfLostClientsAreSpreadOverMany() {
        for (int seed = 0; seed < Cases.count(5); seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.of(27);
            group.tasks(0, 38, TestGroup.Kind.LOGGED, 1).tasks(1, 212, TestGroup.Kind.LOGGED, 1);
            group.ends.replaceAll((task, end) -> (long) (500_000 * Math.exp(random.nextGaussian())));
            double[] weights = IntStream.range(0, 250)
                    .mapToDouble(t -> (t < 38 ? 10 : 1) * (0.8 + 0.4 * random.nextDouble()))
                    .toArray();
            AppliedAnswer applied = converge(group, weights, null);
            group.clients.subList(25, 27).clear();
            converge(group, weights, applied);
        }
    }

    /** In small groups some threads stay idle, and no plan may be balanced: two plans must not replace each other. */
    @Test
    void smallGroupsComeToRest() {
        int[] known = {11_187, 27_277, 31_964, 42_473, 52_639};
        for (int seed :
                IntStream.concat(IntStream.range(0, 1_000), IntStream.of(known)).toArray()) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.of(3 + random.nextInt(4));
            int tasks = 4 + random.nextInt(16);
            group.tasks(0, tasks, TestGroup.Kind.LOGGED, 1);
            group.warmups = 1 + random.nextInt(4);
            group.ends.replaceAll((task, end) -> 50_000 + (long) (500_000 * random.nextDouble()));
            group.clients.forEach(client -> client.threads = 1 + random.nextInt(3));
            IntStream.range(0, tasks).forEach(t -> group.runs(random.nextInt(group.clients.size()), "0_" + t));
            double[] weights = IntStream.range(0, tasks)
                    .mapToDouble(t -> Math.exp(1.5 * random.nextGaussian()))
                    .toArray();
            assertTrue(rebalance(group, weights, null).rebalances < 100, "seed " + seed + " does not rest");
        }
    }

    private static AppliedAnswer converge(TestGroup group, double[] weights, AppliedAnswer before) {
        Convergence played = rebalance(group, weights, before);
        assertTrue(played.rebalances < 100, "no rest");
        Loads loads = new Loads(group.snapshot(), new Weights(weights, 0.05, 0.05));
        double ratio = loads.greatestLoad(played.last.placement().active()) / loads.lowerBound();
        assertTrue(ratio <= 1.0501, "not balanced: " + ratio);
        return played.applied;
    }

    private record Convergence(RebalancePlanner.Result last, AppliedAnswer applied, int rebalances) {}

    /** Plays rebalances until no follow-up is requested, 100 at most. */
    private static Convergence rebalance(TestGroup group, double[] weights, AppliedAnswer before) {
        Convergence played = new Convergence(null, before, 0);
        do {
            Snapshot snapshot = group.snapshot().withWeights(new Weights(weights, 0.05, 0.05));
            RebalancePlanner.Result last = RebalancePlanner.answer(snapshot, played.applied);
            played = new Convergence(last, group.remembered(last), played.rebalances + 1);
            group.settle(RebalancePlanner.toAnswer(snapshot, last), false);
        } while (played.last.followupMs() >= 0 && played.rebalances < 100);
        return played;
    }

    /** An oversized task has a thread to itself, and a new client gets its share of the weight. */
    @Test
    void oversizedTaskIsSetApart() {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 2, 0, 600_000, false, false), List.of());
        IntStream.range(0, 7).forEach(t -> builder.addTask("0", t, false, false, -1));
        SnapshotBuilder.Client first = builder.addClient("client-a", 1);
        IntStream.range(0, 7).forEach(t -> first.owns("0_" + t));
        builder.addClient("client-b", 1);
        builder.addClient("client-c", 1);
        double[] weights = {10, 1, 1, 1, 1, 1, 1};
        Snapshot snapshot = builder.build().withWeights(new Weights(weights, 0.05, 0.05));
        int[] active = RebalancePlanner.answer(snapshot, null).placement().active();
        int withOversized = active[0];
        assertEquals(1, IntStream.of(active).filter(c -> c == withOversized).count());
        for (int c = 0; c < 3; c++) {
            int client = c;
            assertTrue(IntStream.of(active).anyMatch(each -> each == client), "an idle client");
        }
    }

    /** The only new task is too heavy for two slow threads that are idle: they get the lightest tasks instead. */
    @Test
    void heavyTaskDoesNotFillSlowThread() {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 2, 0, 600_000, false, false), List.of());
        IntStream.range(0, 5).forEach(t -> builder.addTask("0", t, false, false, -1));
        SnapshotBuilder.Client fast = builder.addClient("client-a", 1).capacity(3 * Traits.UNITS);
        IntStream.range(0, 4).forEach(t -> fast.owns("0_" + t));
        builder.addClient("client-b", 2).capacity(Traits.UNITS / 2);
        double[] weights = {9, 9, 3, 3, 16};
        Snapshot snapshot = builder.build().withWeights(new Weights(weights, 0.05, 0.05));
        Placement plan = RebalancePlanner.answer(snapshot, null).plan();
        assertArrayEquals(new int[] {0, 0, 1, 1, 0}, plan.active());
    }

    private static int countMoved(Snapshot snapshot, Placement placement) {
        return (int) IntStream.range(0, snapshot.taskCount())
                .filter(t -> snapshot.owners(t).length > 0
                        && !snapshot.wasActive(t, placement.active()[t]))
                .count();
    }
}
