package io.github.optassign.step;

import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The order in which copies that are equal otherwise get warm-up slots: on different clients in turn, since copies on
 * one disk share its rate (docs/reference/rules.md, "Warm-ups", 7).
 */
final class SlotOrder {
    /** A copy that wants a slot. */
    interface Copy {
        int client();

        /** Returns the seconds that the copy takes alone. */
        double seconds();

        /** Returns the weight: of clients done at the same time, the copy of greatest weight comes first. */
        int weight();
    }

    private final int slots;
    /** Whether clients take turns by the seconds of their copies with slots, and not by their number. */
    private final boolean isTimed;
    /** Per client the seconds that its copies without a slot take. */
    private final double[] left;
    /** The seconds of all copies divided by the number of slots. */
    private final double share;
    /** Per client the seconds that its copies with slots take, or their number. */
    private final double[] used;
    /** The seconds that the longest copy with a slot takes, or -1 if there is none. */
    private double last = -1;

    /** Creates an order without copies, given the seconds of each client's queued copies. */
    SlotOrder(int slots, double[] left, boolean isTimed) {
        this.slots = slots;
        this.isTimed = isTimed;
        this.left = left;
        share = Arrays.stream(left).sum() / Math.max(1, slots);
        used = new double[left.length];
    }

    /** Counts a copy that has a slot in any case. */
    void take(Copy copy) {
        used[copy.client()] += isTimed ? copy.seconds() : 1;
        last = Math.max(last, copy.seconds());
    }

    /** Returns copies in their new order; those without a slot follow in their old order. */
    <C extends Copy> List<C> order(List<C> copies) {
        double[] open = left.clone();
        List<C> waiting = new ArrayList<>(copies);
        List<C> order = new ArrayList<>();
        while (order.size() < slots && !waiting.isEmpty()) {
            C next = choose(waiting, open);
            waiting.remove(next);
            order.add(next);
            take(next);
            open[next.client()] -= next.seconds();
        }
        order.addAll(waiting);
        return order;
    }

    /** Returns the copy for the next slot. */
    private <C extends Copy> C choose(List<C> waiting, double[] open) {
        double soonest =
                waiting.stream().mapToDouble(copy -> used[copy.client()]).min().orElse(0);
        List<C> near =
                waiting.stream().filter(copy -> used[copy.client()] == soonest).toList();
        int weight = near.stream().mapToInt(Copy::weight).max().orElse(0);
        near = near.stream().filter(copy -> copy.weight() == weight).toList();
        int top = -1;
        for (C copy : near) {
            top = top < 0 || open[copy.client()] > open[top] ? copy.client() : top;
        }
        if (top >= 0 && (last < 0 || open[top] >= share)) {
            int only = top;
            near = near.stream().filter(copy -> copy.client() == only).toList();
        }
        return findFitting(near, open);
    }

    /** Returns a copy that takes about as long as the longest with a slot, so that one follow-up serves both. */
    private <C extends Copy> C findFitting(List<C> copies, double[] open) {
        double least = copies.stream()
                .mapToDouble(copy -> Math.abs(copy.seconds() - last))
                .min()
                .orElse(0);
        C best = null;
        for (C copy : copies) {
            boolean fits = last < 0 || Math.abs(copy.seconds() - last) <= Math.max(least, WarmupPolicy.TOGETHER * last);
            if (fits && (best == null || (last >= 0 && open[copy.client()] > open[best.client()]))) {
                best = copy;
            }
        }
        return best;
    }
}
