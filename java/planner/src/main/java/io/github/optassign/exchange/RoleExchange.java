package io.github.optassign.exchange;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;

/**
 * Chooses anew which copy of each logged task is its active, so that the numbers of actives are in their shares and few
 * tasks move. Copies stay where they are: the active and a standby change roles. Other tasks may go anywhere.
 */
public final class RoleExchange extends ActiveExchange {
    /** An active that is not caught up weighs more than all moves of a circle. */
    private static final long COLD = 1L << 16;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;

    /** Reads a plan, and changes it. */
    public RoleExchange(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan) {
        super(snapshot, ranks, previous, plan.active());
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.plan = plan;
    }

    @Override
    int[] columns(int t) {
        return snapshot.isLogged(t) ? plan.standby()[t] : super.columns(t);
    }

    @Override
    long measureChange(int t, int from, int to) {
        return weigh(t, to) - weigh(t, from);
    }

    private long weigh(int t, int c) {
        return (ranks.rank(t, c) > 0 ? COLD : 0) + (previous.owner(t) == c ? 0 : 1);
    }

    @Override
    boolean mayTake(int t, int from, int to) {
        return !snapshot.isLogged(t) || plan.hasStandby(t, to);
    }

    @Override
    void move(int t, int from, int to) {
        super.move(t, from, to);
        if (snapshot.isLogged(t)) {
            plan.removeStandby(t, to);
            plan.addStandby(t, from);
        }
    }
}
