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
 * The part of a {@link PairNetwork} that makes the clients of a task differ in values of tags.
 *
 * <p>On its path to a client, a unit passes a node for its task and the client's value of each tag. A value is new if
 * no fixed client of the task has it. The first unit to a new value earns the value's worth, which outweighs all costs.
 * There is no reward for draining clients.
 */
final class TagValues {
    private final Snapshot snapshot;
    private final PairProblem problem;
    private final ClientKinds kinds;
    private final MinCostFlow flow;
    /** The next node on a path, by the present node (upper 32 bits) and the next tag's value + 1 (lower 32 bits). */
    private final Map<Long, Integer> nodes = new HashMap<>();
    /** The arcs with a reward for a unit, and the rewards. */
    private final List<Reward> rewards = new ArrayList<>();
    /** An upper bound of the rewards that a flow can earn. */
    private long mostRewards;

    private record Reward(int arc, long worth) {}

    /** Creates the part of a network, without nodes so far. */
    TagValues(Snapshot snapshot, PairProblem problem, ClientKinds kinds, MinCostFlow flow) {
        this.snapshot = snapshot;
        this.problem = problem;
        this.kinds = kinds;
        this.flow = flow;
    }

    /** Returns whether the flow earns as many rewards as any flow could; true without tags. */
    boolean hasMostRewards() {
        return rewards.stream()
                        .mapToLong(each -> flow.flow(each.arc) * each.worth)
                        .sum()
                == mostRewards;
    }

    /** Adds the greatest sum of rewards that a task can earn to the bound of {@link #hasMostRewards}. */
    void addExpected(int t) {
        mostRewards += problem.isSpread() ? measureMostNew(t) : 0;
    }

    /** Adds a path by a client's values of tags, for {@code tasks} interchangeable tasks. Returns its last node. */
    int addPath(int t, int node, int c, int tasks) {
        int from = node;
        for (int tag : problem.isSpread() && !snapshot.isDraining(c) ? kinds.tags() : List.<Integer>of()) {
            int before = from;
            int value = snapshot.tag(c, tag);
            from = nodes.computeIfAbsent((long) from << Integer.SIZE | value + 1, absent -> {
                int next = flow.addNode(0);
                if (isNew(t, tag, value)) {
                    long worth = snapshot.tagWorth(tag);
                    rewards.add(new Reward(flow.addArc(before, next, 0, tasks, PairNetwork.TAGS, -worth), worth));
                }
                flow.addArc(before, next, 0, (long) tasks * problem.need()[t], 0);
                return next;
            });
        }
        return from;
    }

    /** Returns the kinds sorted by values of tags: {@link PairNetwork} deals kinds of equal value to tasks in turn. */
    List<Integer> sortKinds() {
        Comparator<Integer> byValues = Comparator.comparingInt(kind -> 0);
        for (int tag : kinds.tags()) {
            byValues = byValues.thenComparingInt(kind -> snapshot.tag(kinds.clients()[kind][0], tag));
        }
        return IntStream.range(0, kinds.kindCount()).boxed().sorted(byValues).toList();
    }

    /** Returns the greatest worth of new values that the clients of a task can have, summed over tags. */
    private long measureMostNew(int t) {
        long sum = 0;
        for (int tag : kinds.tags()) {
            long values = Arrays.stream(kinds.clients())
                    .filter(members -> !snapshot.isDraining(members[0]))
                    .mapToInt(members -> snapshot.tag(members[0], tag))
                    .filter(value -> isNew(t, tag, value))
                    .distinct()
                    .count();
            sum += Math.min(problem.need()[t], values) * snapshot.tagWorth(tag);
        }
        return sum;
    }

    /** Returns whether a value is new to a task: known, and no fixed client of the task has it. */
    private boolean isNew(int t, int tag, int value) {
        return value >= 0 && Arrays.stream(problem.fixed()[t]).noneMatch(c -> snapshot.tag(c, tag) == value);
    }
}
