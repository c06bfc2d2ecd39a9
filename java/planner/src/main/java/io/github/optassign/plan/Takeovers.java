package io.github.optassign.plan;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.TiePolicy;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A local search that spreads the planned standbys of each client's tasks over many other clients. When the client
 * dies, many clients then take its tasks over (docs/reference/rules.md, "Failover"). Standbys of one subtopology trade
 * places if their clients have no state of either task, so that counts and costs do not change.
 *
 * <p>The objective is half the sum of n<sup>2</sup> &divide; size of b over all pairs of clients (a, b), where n tasks
 * are active on a with a standby on b. The half makes the derivative n &divide; size.
 */
final class Takeovers extends PlanningStep implements Trades.Objective {
    private final Placement plan;
    /** The factor of each client in the objective: the mean size of clients divided by its size. */
    private final double[] costFactor;
    /** The number of tasks that are active on one client with a standby on another, by these clients. */
    private final int[][] count;
    /** The number of standbys of each client's tasks, divided by the total size of all other clients. */
    private final double[] fairShare;
    /** The number of standbys of each task; standby k of task t has the number t * perTask + k. */
    private final int perTask;

    private Takeovers(PlanningStep step, Placement plan) {
        super(step);
        this.plan = plan;
        perTask = snapshot.standbysPerTask();
        int clients = snapshot.clientCount();
        double total = Arrays.stream(snapshot.sizes()).sum();
        costFactor = Arrays.stream(snapshot.sizes())
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
    }

    /** Spreads the standbys of {@code plan} in place if it is balanced. Balancing it later would undo the spread. */
    static void spread(PlanningStep step, Placement plan) {
        Snapshot snapshot = step.snapshot;
        int clients = snapshot.clientCount();
        boolean isPossible = clients >= 3
                && clients <= TiePolicy.FAILOVER_MOST_CLIENTS
                && snapshot.standbysPerTask() > 0
                && plan.imbalance(snapshot) == 0;
        if (isPossible) {
            Trades.search(new Takeovers(step, plan), TiePolicy.ROUNDS);
            Arrays.stream(plan.standby()).forEach(Arrays::sort);
        }
    }

    /** Returns whether a standby may move: its task is logged, and its client is new to the task. */
    private boolean isMovable(int standby) {
        return snapshot.isLogged(task(standby)) && isNewTo(task(standby), client(standby));
    }

    private int task(int standby) {
        return standby / perTask;
    }

    /** Returns the client of the planned active of a standby's task. */
    private int owner(int standby) {
        return plan.active()[task(standby)];
    }

    /** Returns whether a client has no state of a task and had no copy of it. */
    private boolean isNewTo(int t, int c) {
        return Arrays.binarySearch(snapshot.columns(t), c) < 0 && !previous.hadAnyCopy(t, c);
    }

    /** Returns all standbys that may move. */
    @Override
    public int[] listSeekers() {
        return IntStream.range(0, snapshot.taskCount() * perTask)
                .filter(this::isMovable)
                .toArray();
    }

    /** Returns standbys of the same subtopology; no partners if its client has at most a {@link #fairShare}. */
    @Override
    public int[] listPartners(int standby) {
        int owner = owner(standby);
        int there = client(standby);
        if (count[owner][there] <= Math.max(1, fairShare[owner] * snapshot.size(there))) {
            return new int[0];
        }
        int g = snapshot.subtopology(task(standby));
        int first = snapshot.firstTask(g) * perTask;
        int length = snapshot.firstTask(g + 1) * perTask - first;
        return IntStream.range(1, length)
                .map(k -> first + (standby - first + k) % length)
                .filter(this::isMovable)
                .limit(TiePolicy.FAILOVER_CANDIDATES)
                .toArray();
    }

    @Override
    public int client(int standby) {
        return plan.standby()[task(standby)][standby % perTask];
    }

    @Override
    public double measureRise(int standby, int place) {
        int c = client(place);
        if (!isNewTo(task(standby), c) || plan.hasCopy(task(standby), c)) {
            return Double.POSITIVE_INFINITY;
        }
        int owner = owner(standby);
        int other = owner(place);
        return owner == other ? 0 : costFactor[c] * (count[owner][c] + 1 - count[other][c]);
    }

    @Override
    public double leastGain(int standby) {
        return TiePolicy.FAILOVER_LEAST_GAIN;
    }

    @Override
    public int threeWayPartners() {
        return TiePolicy.FAILOVER_ROTATED;
    }

    @Override
    public void move(int standby, int to) {
        count[owner(standby)][client(standby)]--;
        count[owner(standby)][to]++;
        int[] clients = plan.standby()[task(standby)].clone(); // plans may share the clients of a task
        clients[standby % perTask] = to;
        plan.standby()[task(standby)] = clients;
    }
}
