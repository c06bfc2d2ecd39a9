package io.github.optassign;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which of the plan's copies to warm up in this rebalance (R6), and whether waiting for them makes sense (R11).
 *
 * <p>In the queue stand the plan's copies on clients that have no copy of the task in this answer. The order: those
 * that lag before those that are caught up and only wait for their turn; those that make progress before those that
 * have not for {@link #PATIENCE} answers; those under way; those with most state to lose; actives before standbys; the
 * least lag.
 */
final class WarmupQueue {
    /** Answers over which a lag may stay as it is before the copy goes to the end of the queue. */
    static final int PATIENCE = 3;

    private record Waiting(int task, int client, long offsets, int idle) {}

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final Placement answer;
    private final List<Waiting> queue = new ArrayList<>();
    private final List<Waiting> restoring = new ArrayList<>();
    private final List<Answer.Progress> progress = new ArrayList<>();

    /** The queue for an answer whose actives and standbys are decided. */
    WarmupQueue(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, Placement answer) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.plan = plan;
        this.answer = answer;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.logged(t)) {
                wait(t, plan.active()[t]);
                for (int c : plan.standby()[t]) {
                    wait(t, c);
                }
            }
        }
        queue.sort(Comparator.comparing((Waiting copy) -> ranks.of(copy.task, copy.client) == 0)
                .thenComparing(copy -> copy.idle >= PATIENCE)
                .thenComparing(copy -> !previous.underWay(copy.task, copy.client))
                .thenComparing(this::toLose, Comparator.reverseOrder())
                .thenComparing(copy -> plan.active()[copy.task] != copy.client)
                .thenComparingLong(Waiting::offsets)
                .thenComparingInt(Waiting::task)
                .thenComparingInt(Waiting::client));
    }

    private void wait(int t, int c) {
        Waiting copy = new Waiting(t, c, ranks.offsets(t, c), idle(t, c));
        if (!answer.hasCopy(t, c)) {
            queue.add(copy);
        } else if (ranks.of(t, c) > 0) {
            restoring.add(copy);
        }
    }

    /** Partial state that Kafka's clean-up would delete. */
    private long toLose(Waiting copy) {
        boolean partial = snapshot.holder(copy.client, copy.task) && snapshot.endOffset(copy.task) >= 0;
        return partial ? Math.max(0, snapshot.endOffset(copy.task) - copy.offsets) : 0;
    }

    /** For how many answers the lag has not fallen. A second pass follows at once, so it is not counted. */
    private int idle(int t, int c) {
        Previous.Progress before = previous.progress(t, c);
        if (before == null) {
            return 0;
        }
        boolean fell = before.lag() >= 0 && ranks.offsets(t, c) < before.lag();
        if (fell || ranks.of(t, c) == 0) {
            return 0;
        }
        boolean counts = previous.assigned(t, c) && !previous.anyInTransit();
        return Math.min(before.idle(), PATIENCE) + (counts ? 1 : 0);
    }

    /** Gives the slots to the first in the queue and takes down what is waited for. */
    void serve() {
        int slots = Math.min(snapshot.configs().maxWarmupReplicas(), queue.size());
        for (int i = 0; i < queue.size(); i++) {
            Waiting copy = queue.get(i);
            if (i < slots) {
                answer.addWarmup(copy.task, copy.client);
            }
            if (i < slots || copy.idle >= PATIENCE) {
                progress.add(seen(copy));
            }
        }
        for (Waiting copy : restoring) {
            progress.add(seen(copy));
        }
    }

    private Answer.Progress seen(Waiting copy) {
        long lag = snapshot.lag(copy.client, copy.task) == Snapshot.UNKNOWN ? -1 : copy.offsets;
        return new Answer.Progress(snapshot.taskName(copy.task), snapshot.clientName(copy.client), lag, copy.idle);
    }

    /** What the next answer compares lags with. */
    List<Answer.Progress> progress() {
        return progress;
    }

    /** Whether everything waited for has stood still for long, so that another rebalance would not help. */
    boolean stalled() {
        boolean waiting = !queue.isEmpty() || !restoring.isEmpty();
        return waiting
                && queue.stream().allMatch(copy -> copy.idle >= PATIENCE)
                && restoring.stream().allMatch(copy -> copy.idle >= PATIENCE);
    }
}
