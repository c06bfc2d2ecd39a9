package io.github.optassign.planner;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Chooses which of the plan's copies to warm up in this rebalance (R6), and tells whether it makes sense to wait for
 * them (R11).
 *
 * <p>In the queue are the plan's copies on clients that have no copy of the task in this answer. Their order:
 *
 * <ol>
 *   <li>those that lag before those that are caught up and only wait for their turn;
 *   <li>those that make progress before those that have not for {@link #PATIENCE} answers;
 *   <li>those that the last answer warmed up before others;
 *   <li>those with the most state that Kafka's clean-up would delete;
 *   <li>actives before standbys;
 *   <li>those that lag least, then the order of tasks and clients.
 * </ol>
 */
final class WarmupQueue {
    /** After so many answers over which its lag has not fallen, a copy goes to the end of the queue. */
    static final int PATIENCE = 3;

    /**
     * A copy that the plan has and that is not there yet.
     *
     * @param offsets offsets left to replay
     * @param idleAnswers over how many answers the lag has not fallen
     */
    private record Waiting(int task, int client, long offsets, int idleAnswers) {
        boolean isIdle() {
            return idleAnswers >= PATIENCE;
        }
    }

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final Placement answer;
    /** Whether a copy that has made no progress is idle for one answer more. */
    private final boolean countsIdle;
    /** Copies of the plan's that the answer does not have. */
    private final List<Waiting> queue = new ArrayList<>();
    /** Copies of the plan's that the answer has on clients that are not caught up. */
    private final List<Waiting> restoring = new ArrayList<>();

    private final List<Answer.Progress> progress = new ArrayList<>();

    /** Makes the queue for an answer whose actives and standbys are decided. */
    WarmupQueue(
            Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, Placement answer, boolean countsIdle) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.plan = plan;
        this.answer = answer;
        this.countsIdle = countsIdle && !previous.isAnyInTransit();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.isLogged(t)) {
                add(t, plan.active()[t]);
                for (int c : plan.standby()[t]) {
                    add(t, c);
                }
            }
        }
        queue.sort(Comparator.comparing((Waiting copy) -> ranks.rank(copy.task, copy.client) == 0)
                .thenComparing(Waiting::isIdle)
                .thenComparing(copy -> !previous.hadWarmup(copy.task, copy.client))
                .thenComparing(this::stateToLose, Comparator.reverseOrder())
                .thenComparing(copy -> plan.active()[copy.task] != copy.client)
                .thenComparingLong(Waiting::offsets)
                .thenComparingInt(Waiting::task)
                .thenComparingInt(Waiting::client));
    }

    private void add(int t, int c) {
        Waiting copy = new Waiting(t, c, ranks.offsets(t, c), countIdleAnswers(t, c));
        if (!answer.hasCopy(t, c)) {
            queue.add(copy);
        } else if (ranks.rank(t, c) > 0) {
            restoring.add(copy);
        }
    }

    /** Offsets of partial state that Kafka's clean-up would delete. */
    private long stateToLose(Waiting copy) {
        boolean partial = snapshot.isHolder(copy.task, copy.client) && snapshot.endOffset(copy.task) >= 0;
        return partial ? Math.max(0, snapshot.endOffset(copy.task) - copy.offsets) : 0;
    }

    /** Over how many answers the lag has not fallen, of those that count: a second pass, for one, follows at once. */
    private int countIdleAnswers(int t, int c) {
        Previous.Progress before = previous.progress(t, c);
        if (before == null) {
            return 0;
        }
        boolean hasFallen = before.lag() >= 0 && ranks.offsets(t, c) < before.lag();
        if (hasFallen || ranks.rank(t, c) == 0) {
            return 0;
        }
        boolean counts = previous.hadAnyCopy(t, c) && countsIdle;
        return Math.min(before.idleAnswers(), PATIENCE) + (counts ? 1 : 0);
    }

    /** Warms up the first copies of the queue, and takes down what the answer waits for. */
    void assignWarmups() {
        int slots = countSlots();
        for (int i = 0; i < queue.size(); i++) {
            Waiting copy = queue.get(i);
            if (i < slots) {
                answer.addWarmup(copy.task, copy.client);
            }
            if (i < slots || copy.isIdle()) {
                progress.add(toProgress(copy));
            }
        }
        for (Waiting copy : restoring) {
            progress.add(toProgress(copy));
        }
    }

    private Answer.Progress toProgress(Waiting copy) {
        long lag = snapshot.lag(copy.task, copy.client) == Snapshot.UNKNOWN ? -1 : copy.offsets;
        return new Answer.Progress(
                snapshot.taskName(copy.task), snapshot.clientName(copy.client), lag, copy.idleAnswers);
    }

    private int countSlots() {
        return Math.min(snapshot.configs().maxWarmupReplicas(), queue.size());
    }

    /** Whether any copy of the plan is not there, or not caught up. */
    boolean isAnyWaiting() {
        return !queue.isEmpty() || !restoring.isEmpty();
    }

    /** How many copies are to be warmed up that have no slot yet. */
    int countLeft() {
        return queue.size() - countSlots();
    }

    /** What the answer waits for: the next answer compares lags with these. */
    List<Answer.Progress> progress() {
        return progress;
    }

    /** Whether nothing that is waited for has made progress for long, so that another rebalance would not help. */
    boolean isStalled() {
        return isAnyWaiting()
                && queue.stream().allMatch(Waiting::isIdle)
                && restoring.stream().allMatch(Waiting::isIdle);
    }
}
