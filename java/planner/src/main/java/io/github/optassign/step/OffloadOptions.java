package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import java.util.Arrays;

/** The clients on which each task may be active during offload, and their costs: seconds, then distance to the plan. */
final class OffloadOptions {
    /** The cost of a second, above the sum of costs that only break ties. */
    static final long SECOND = 1L << 20;

    /** More seconds than any excess active can stay, so no move at this price is made. */
    static final long MOST_SECONDS = 1L << 21;

    private static final long OFF_TARGET = 1L << 10;
    private static final long MOVE = 1L << 4;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final Placement answer;
    private final Timing.Prices prices;
    /** Per task the clients with costs of their own; empty if the task stays. */
    private final int[][] clients;

    /**
     * Finds the options from the answer without offload.
     *
     * @param mayStay whether a task that returns to its planned client may wait on its owner
     */
    OffloadOptions(
            Snapshot snapshot,
            Ranks ranks,
            Previous previous,
            Placement plan,
            Placement answer,
            Timing.Prices prices,
            boolean mayStay) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.plan = plan;
        this.answer = answer;
        this.prices = prices;
        clients = new int[snapshot.taskCount()][];
        for (int t = 0; t < clients.length; t++) {
            clients[t] = findClients(t, mayStay);
        }
    }

    private int[] findClients(int t, boolean mayStay) {
        int here = answer.active()[t];
        int owner = previous.owner(t);
        if (previous.isInTransit(t)) {
            return new int[0]; // R10: it goes where the first pass of its move has put it
        }
        if (isPooled(t)) {
            return Snapshot.and(new int[] {here}, plan.active()[t], owner);
        }
        if (!snapshot.isLogged(t) || !isCaughtUp(t, here)) {
            return new int[0];
        }
        if (here == owner) {
            int[] ready = Arrays.stream(answer.standby()[t])
                    .filter(c -> isCaughtUp(t, c))
                    .toArray();
            return ready.length == 0 ? ready : Snapshot.and(ready, here);
        }
        boolean maySwap = owner >= 0 && answer.hasStandby(t, owner) && isCaughtUp(t, owner);
        return mayStay && maySwap && here == plan.active()[t] ? Snapshot.and(new int[] {here}, owner) : new int[0];
    }

    private boolean isCaughtUp(int t, int c) {
        return ranks.rank(t, c) == 0;
    }

    /** Returns the clients of a task with costs of their own; empty if the task stays. */
    int[] clients(int t) {
        return clients[t];
    }

    /** Returns whether any client may have the task. */
    boolean isPooled(int t) {
        return !snapshot.isStateful(t) && !previous.isInTransit(t);
    }

    /** Returns the cost of an active on a client; only differences count. */
    long weigh(int t, int c) {
        boolean moves = previous.owner(t) >= 0 && previous.owner(t) != c;
        return weigh(t, moves, plan.active()[t] != c);
    }

    /** Returns the cost of an active on any other client. */
    long weighPool(int t) {
        return weigh(t, previous.owner(t) >= 0, true);
    }

    private long weigh(int t, boolean movesNow, boolean movesAgain) {
        long price = Math.min(snapshot.isLogged(t) ? prices.logged() : prices.stateless(), MOST_SECONDS);
        long moves = (movesNow ? 1 : 0) + (movesAgain ? 1 : 0);
        return moves * price * SECOND + (movesAgain ? OFF_TARGET : 0) + (movesNow ? MOVE : 0);
    }
}
