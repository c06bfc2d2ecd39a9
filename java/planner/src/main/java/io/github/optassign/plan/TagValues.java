package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The nodes of a {@link PairNetwork} that draw the clients of a task to different values of tags.
 *
 * <p>On its way to a client a unit passes a node for its task and the client's value of each tag. The first unit to a
 * new value, which none of the task's fixed clients has, earns a reward before all costs. Draining clients earn none.
 */
final class TagValues {
    private final Snapshot snapshot;
    private final PairChoice choice;
    private final ClientKinds kinds;
    private final MinCostFlow flow;
    /** Whether clients of a task should differ in values of tags. */
    final boolean matter;
    /** Whether rewards give way to closed values: bounds are strict, and no client drains. */
    private final boolean mayClose;
    /** The node behind a node for each value of the next tag. */
    private final Map<Long, Integer> nodes = new HashMap<>();
    /** The arcs with a reward. */
    private final List<Integer> rewards = new ArrayList<>();

    private long mostRewards;

    /** Adds to a network. @param isSoft whether its bounds give way */
    TagValues(Snapshot snapshot, PairChoice choice, ClientKinds kinds, MinCostFlow flow, boolean isSoft) {
        this.snapshot = snapshot;
        this.choice = choice;
        this.kinds = kinds;
        this.flow = flow;
        matter = matter(choice, kinds);
        boolean isAnyDraining = IntStream.range(0, snapshot.clientCount()).anyMatch(snapshot::isDraining);
        mayClose = matter && !isSoft && kinds.tags().size() == 1 && !isAnyDraining;
    }

    /** Returns whether clients of a task should differ in values of tags. */
    static boolean matter(PairChoice choice, ClientKinds kinds) {
        return choice.spread() != null
                && choice.spread().matters()
                && !kinds.tags().isEmpty();
    }

    /** Returns whether the flow has as many new values as any could have. */
    boolean areMost() {
        return rewards.stream().mapToLong(flow::flow).sum() == mostRewards;
    }

    /** Counts the new values that the clients of a task can have. */
    void expect(int t) {
        mostRewards += matter && !isClosed(t) ? countMost(t) : 0;
    }

    /** Returns the node from which units of tasks alike, coming from a node, go to a client. */
    int addPath(int t, int node, int c, int tasks) {
        int from = node;
        for (int tag : matter && !snapshot.isDraining(c) ? kinds.tags() : List.<Integer>of()) {
            int before = from;
            int value = snapshot.tag(c, tag);
            from = nodes.computeIfAbsent((long) from << Integer.SIZE | value + 1, absent -> {
                int next = flow.addNode(0);
                boolean isNew = isNew(t, tag, value);
                boolean isClosed = isClosed(t);
                if (isNew && !isClosed) {
                    rewards.add(flow.addArc(before, next, 0, tasks, Bounds.TAGS, -1));
                }
                long others = isClosed ? (isNew ? tasks : 0) : (long) tasks * choice.need()[t];
                flow.addArc(before, next, 0, others, 0);
                return next;
            });
        }
        return from;
    }

    /** Returns the kinds of clients, sorted by their values of tags. */
    List<Integer> sortKinds() {
        Comparator<Integer> byValues = Comparator.comparingInt(kind -> 0);
        for (int tag : kinds.tags()) {
            byValues = byValues.thenComparingInt(kind -> snapshot.tag(kinds.clients()[kind][0], tag));
        }
        return IntStream.range(0, kinds.count()).boxed().sorted(byValues).toList();
    }

    /** Returns whether other values are closed to a task, as each of its units must have a new one. */
    private boolean isClosed(int t) {
        return mayClose && countMost(t) == choice.need()[t];
    }

    private int countMost(int t) {
        int sum = 0;
        for (int tag : kinds.tags()) {
            long values = Arrays.stream(kinds.clients())
                    .filter(members -> !snapshot.isDraining(members[0]))
                    .mapToInt(members -> snapshot.tag(members[0], tag))
                    .filter(value -> isNew(t, tag, value))
                    .distinct()
                    .count();
            sum += (int) Math.min(choice.need()[t], values);
        }
        return sum;
    }

    private boolean isNew(int t, int tag, int value) {
        return value >= 0 && Arrays.stream(choice.fixed()[t]).noneMatch(c -> snapshot.tag(c, tag) == value);
    }
}
