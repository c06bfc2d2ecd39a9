package io.github.optassign.plan;

import io.github.optassign.model.Balance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The planned standbys of each client's tasks, spread over many other clients, so that no single one takes all tasks
 * over when the client dies (docs/reference/rules.md, "Failover"). Standbys of one subtopology trade where the clients
 * know nothing of either task, so counts and costs stay.
 *
 * <p>The objective is half the sum of n<sup>2</sup> &divide; size of b over all pairs of clients (a, b), where n tasks
 * are active on a with a standby on b.
 */
final class Takeovers extends PlanningStep implements Trades.Objective {
    private final Placement plan;
    /** Per client the mean size divided by its size. */
    private final double[] perUnit;
    /** Per two clients the tasks that are active on the first with a standby on the second. */
    private final int[][] count;
    /** Per client the standbys of its tasks, by unit of the other clients' size. */
    private final double[] fairShare;
    /** The tasks of the standbys that may move, sorted, and their clients. */
    private final int[] task;

    private final int[] client;
    /** Per subtopology the first of its standbys that may move. */
    private final int[] first;

    private Takeovers(PlanningStep step, Placement plan) {
        super(step);
        this.plan = plan;
        int clients = snapshot.clientCount();
        double total = Arrays.stream(snapshot.sizes()).sum();
        perUnit = Arrays.stream(snapshot.sizes())
                .mapToDouble(size -> total / clients / size)
                .toArray();
        count = new int[clients][clients];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : plan.standby()[t]) {
                count[plan.active()[t]][c]++;
            }
        }
        fairShare = new double[clients];
        Arrays.setAll(fairShare, c -> Arrays.stream(count[c]).sum() / Math.max(1, total - snapshot.sizes()[c]));
        task = IntStream.range(0, snapshot.taskCount())
                .flatMap(t -> listMovable(t).map(c -> t))
                .toArray();
        client = IntStream.range(0, snapshot.taskCount())
                .flatMap(this::listMovable)
                .toArray();
        first = new int[snapshot.subtopologyCount() + 1];
        Arrays.setAll(first, g ->
                (int) Arrays.stream(task).filter(t -> t < snapshot.firstTask(g)).count());
    }

    /** Has standbys trade if the plan is balanced; otherwise a rebalance that improves the balance undoes it. */
    static void spread(PlanningStep step, Placement plan) {
        Snapshot snapshot = step.snapshot;
        int clients = snapshot.clientCount();
        boolean isPossible = clients >= 3
                && clients <= TiePolicy.FAILOVER_MOST_CLIENTS
                && snapshot.standbysPerTask() > 0
                && Balance.imbalance(snapshot, plan) == 0;
        if (isPossible) {
            Trades.search(new Takeovers(step, plan), TiePolicy.ROUNDS);
        }
    }

    private IntStream listMovable(int t) {
        return Arrays.stream(plan.standby()[t]).filter(c -> isUnknown(t, c));
    }

    private boolean isUnknown(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0 && !previous.hadAnyCopy(t, c);
    }

    @Override
    public int[] listSeekers() {
        return IntStream.range(0, task.length).toArray();
    }

    /** Returns the next standbys of the subtopology, if a client's tasks have too many standbys on the other client. */
    @Override
    public int[] listPartners(int standby) {
        int owner = plan.active()[task[standby]];
        int there = client[standby];
        if (count[owner][there] <= Math.max(1, fairShare[owner] * snapshot.size(there))) {
            return new int[0];
        }
        int g = snapshot.subtopology(task[standby]);
        int length = first[g + 1] - first[g];
        return IntStream.rangeClosed(1, Math.min(TiePolicy.FAILOVER_CANDIDATES, length - 1))
                .map(k -> first[g] + (standby - first[g] + k) % length)
                .toArray();
    }

    @Override
    public int client(int standby) {
        return client[standby];
    }

    @Override
    public double measureRise(int standby, int place) {
        int c = client[place];
        if (!isUnknown(task[standby], c) || plan.hasCopy(task[standby], c)) {
            return Double.POSITIVE_INFINITY;
        }
        int owner = plan.active()[task[standby]];
        int other = plan.active()[task[place]];
        return owner == other ? 0 : perUnit[c] * (count[owner][c] + 1 - count[other][c]);
    }

    @Override
    public double leastGain(int standby) {
        return TiePolicy.FAILOVER_LEAST_GAIN;
    }

    @Override
    public int countInThrees() {
        return TiePolicy.FAILOVER_ROTATED;
    }

    @Override
    public void take(int standby) {
        count[plan.active()[task[standby]]][client[standby]]--;
        plan.removeStandby(task[standby], client[standby]);
    }

    @Override
    public void put(int standby, int to) {
        client[standby] = to;
        count[plan.active()[task[standby]]][to]++;
        plan.addStandby(task[standby], to);
    }
}
