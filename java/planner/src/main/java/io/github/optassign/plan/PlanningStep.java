package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import java.util.Comparator;
import java.util.stream.IntStream;

/** A step of the planner, with the facts by which all steps of one rebalance decide. */
public abstract class PlanningStep {
    protected final Snapshot snapshot;
    protected final Ranks ranks;
    protected final Previous previous;

    protected PlanningStep(Snapshot snapshot, Ranks ranks, Previous previous) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
    }

    /** Takes the facts of another step. */
    protected PlanningStep(PlanningStep other) {
        this(other.snapshot, other.ranks, other.previous);
    }

    /** Sorts tasks or clients; equals stay in their order. */
    protected static int[] sort(IntStream numbers, Comparator<Integer> order) {
        return numbers.boxed().sorted(order).mapToInt(number -> number).toArray();
    }
}
