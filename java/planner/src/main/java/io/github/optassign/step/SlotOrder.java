package io.github.optassign.step;

import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * An order, for warm-up slots, of copies that are equal in all earlier criteria. Clients take turns, since copies on
 * one disk share its rate (docs/reference/rules.md, "Warm-ups", 7).
 */
final class SlotOrder {
    /** A copy that may get a slot. */
    interface Candidate {
        int client();

        /** Returns the seconds that the copy takes to restore alone, or its offsets if no rate is known. */
        double restoreTime();

        /** Returns the precedence of the copy among clients whose turns are equal; the greatest comes first. */
        int priority();
    }

    /** The number of slots for the whole queue, including slots of copies served before. */
    private final int slots;
    /** Whether clients take turns by the restore time of their copies with slots, instead of by the number. */
    private final boolean isTimed;
    /** Per client the restore time of all its copies in the queue. */
    private final double[] queued;
    /** The even share of a slot: the restore time of all queued copies divided by the number of slots. */
    private final double share;
    /** Per client the restore time of its copies with slots, or their number if not timed. */
    private final double[] used;
    /** The longest restore time of a copy with a slot, or -1 if no copy has a slot. */
    private double longest = -1;

    /** Creates an order in which no copy has a slot, given each client's restore time of all queued copies. */
    SlotOrder(int slots, double[] queued, boolean isTimed) {
        this.slots = slots;
        this.isTimed = isTimed;
        this.queued = queued;
        share = Arrays.stream(queued).sum() / Math.max(1, slots);
        used = new double[queued.length];
    }

    /** Counts a copy that has a slot already, so that its client's next turn comes later. */
    void addServed(Candidate copy) {
        used[copy.client()] += isTimed ? copy.restoreTime() : 1;
        longest = Math.max(longest, copy.restoreTime());
    }

    /** Returns the copies that get the slots, in turn, followed by the others in their old order. */
    <C extends Candidate> List<C> order(List<C> copies) {
        double[] rest = queued.clone();
        List<C> waiting = new ArrayList<>(copies);
        List<C> order = new ArrayList<>();
        while (order.size() < slots && !waiting.isEmpty()) {
            C next = chooseNext(waiting, rest);
            waiting.remove(next);
            order.add(next);
            addServed(next);
            rest[next.client()] -= next.restoreTime();
        }
        order.addAll(waiting);
        return order;
    }

    /**
     * Returns the copy for the next slot: on a client whose turn it is, of greatest priority. Ties go to the client
     * with the most {@code rest} if that is at least a {@link #share}, or if no copy has a slot. Other ties go to a
     * copy that restores for about as long as the longest copy with a slot, so that one follow-up serves both.
     *
     * @param rest per client the restore time of its copies that this order has given no slot
     */
    private <C extends Candidate> C chooseNext(List<C> waiting, double[] rest) {
        Comparator<Candidate> mostRest = Comparator.comparingDouble(copy -> -rest[copy.client()]);
        Comparator<Candidate> turn = Comparator.comparingDouble(copy -> used[copy.client()]);
        Comparator<Candidate> order = turn.thenComparingInt(copy -> -copy.priority());
        C first = waiting.stream().min(order.thenComparing(mostRest)).orElseThrow();
        boolean isOnlyFirst = longest < 0 || rest[first.client()] >= share;
        List<C> near = waiting.stream()
                .filter(copy -> order.compare(copy, first) == 0)
                .filter(copy -> !isOnlyFirst || copy.client() == first.client())
                .toList();
        double least = near.stream().mapToDouble(this::distance).min().orElseThrow();
        return near.stream()
                .filter(copy -> distance(copy) <= Math.max(least, WarmupPolicy.TOGETHER * longest))
                .min(mostRest)
                .orElseThrow();
    }

    /** Returns how much the restore time differs from the longest of a copy with a slot, or 0 if no copy has one. */
    private double distance(Candidate copy) {
        return longest < 0 ? 0 : Math.abs(copy.restoreTime() - longest);
    }
}
