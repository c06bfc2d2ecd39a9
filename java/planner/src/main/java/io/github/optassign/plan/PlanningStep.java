package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import java.util.Comparator;
import java.util.stream.IntStream;

/** A base class of the planner's steps, with the input that all steps of a rebalance share. */
public abstract class PlanningStep {
    protected final Snapshot snapshot;
    /** The clients of each task, ranked by how far they are caught up. */
    protected final Ranks ranks;
    /** The previous assignment, with the answer that the group remembers. */
    protected final Previous previous;

    protected PlanningStep(Snapshot snapshot, Previous previous) {
        this.snapshot = snapshot;
        ranks = snapshot.ranks();
        this.previous = previous;
    }

    /** Creates a step with the input of another step. */
    protected PlanningStep(PlanningStep other) {
        this(other.snapshot, other.previous);
    }

    /** Returns tasks or clients sorted by an order; equal numbers keep their order. */
    protected static int[] sort(IntStream numbers, Comparator<Integer> order) {
        return numbers.boxed().sorted(order).mapToInt(number -> number).toArray();
    }

    /** Returns the number of tasks that move to the planned client, or start there while it is not caught up. */
    protected final int countMigrations(Placement plan) {
        return (int) snapshot.tasks()
                .filter(t -> snapshot.isMove(t, plan.active()[t])
                        || (snapshot.owners(t).length == 0 && ranks.rank(t, plan.active()[t]) > 0))
                .count();
    }
}
