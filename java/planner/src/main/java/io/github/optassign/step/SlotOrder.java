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
    interface Candidate {
        int client();

        /** Returns the seconds that the copy takes alone. */
        double restoreTime();

        /** Returns the weight: of clients done at the same time, the copy of greatest weight comes first. */
        int priority();
    }

    private final int slots;
    /** Whether clients take turns by the seconds of their copies with slots, and not by their number. */
    private final boolean isTimed;
    /** Per client the seconds that its copies without a slot take. */
    private final double[] queued;
    /** The seconds of all copies divided by the number of slots. */
    private final double share;
    /** Per client the seconds that its copies with slots take, or their number. */
    private final double[] used;
    /** The seconds that the longest copy with a slot takes, or -1 if there is none. */
    private double longest = -1;

    /** Creates an order without copies, given the seconds of each client's queued copies. */
    SlotOrder(int slots, double[] queued, boolean isTimed) {
        this.slots = slots;
        this.isTimed = isTimed;
        this.queued = queued;
        share = Arrays.stream(queued).sum() / Math.max(1, slots);
        used = new double[queued.length];
    }

    /** Counts a copy that has a slot in any case. */
    void addServed(Candidate copy) {
        used[copy.client()] += isTimed ? copy.restoreTime() : 1;
        longest = Math.max(longest, copy.restoreTime());
    }

    /** Returns copies in their new order; those without a slot follow in their old order. */
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

    /** Returns the copy for the next slot. */
    private <C extends Candidate> C chooseNext(List<C> waiting, double[] rest) {
        double soonest =
                waiting.stream().mapToDouble(copy -> used[copy.client()]).min().orElse(0);
        List<C> near =
                waiting.stream().filter(copy -> used[copy.client()] == soonest).toList();
        int greatest = near.stream().mapToInt(Candidate::priority).max().orElse(0);
        near = near.stream().filter(copy -> copy.priority() == greatest).toList();
        int top = -1;
        for (C copy : near) {
            top = top < 0 || rest[copy.client()] > rest[top] ? copy.client() : top;
        }
        if (top >= 0 && (longest < 0 || rest[top] >= share)) {
            int only = top;
            near = near.stream().filter(copy -> copy.client() == only).toList();
        }
        return findFitting(near, rest);
    }

    /** Returns a copy that takes about as long as the longest with a slot, so that one follow-up serves both. */
    private <C extends Candidate> C findFitting(List<C> copies, double[] rest) {
        double least = copies.stream()
                .mapToDouble(copy -> Math.abs(copy.restoreTime() - longest))
                .min()
                .orElse(0);
        C best = null;
        for (C copy : copies) {
            boolean fits = longest < 0
                    || Math.abs(copy.restoreTime() - longest) <= Math.max(least, WarmupPolicy.TOGETHER * longest);
            if (fits && (best == null || (longest >= 0 && rest[copy.client()] > rest[best.client()]))) {
                best = copy;
            }
        }
        return best;
    }
}
