package io.github.optassign.step;

import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The order in which copies that are equal otherwise get warm-up slots: on different clients in turn, since copies on
 * one disk share its rate (docs/reference/rules.md, "Warm-ups", 7). Within a {@link WarmupStage} only copies that fit
 * get slots, the shortest first.
 */
final class SlotOrder {
    private final int slots;
    /**
     * Whether clients take turns by the seconds that their copies with slots take, rather than by the number of these.
     */
    private final boolean isTimed;
    /** The seconds within which a client has to restore its copies with slots, except for one copy. */
    private final double stage;
    /** Per client the seconds that its copies without a slot take. */
    private final double[] left;
    /** The seconds of all copies divided by the number of slots. */
    private final double share;
    /** Per client the seconds that its copies with slots take, or their number. */
    private final double[] used;
    /** The seconds that the longest copy with a slot takes, or -1 if there is none. */
    private double last = -1;

    /**
     * A copy that wants a slot.
     *
     * @param weight copies of greater weight come first, among clients that are done at the same time
     * @param place the position in the queue
     */
    record Copy(int client, double seconds, int weight, int place) {}

    /**
     * Creates an order without copies.
     *
     * @param left per client the seconds that all of its queued copies take; not changed
     * @param isTimed whether follow-ups are timed by restore rates, or soon
     * @param stage seconds; {@link WarmupStage#NONE}
     */
    SlotOrder(int slots, double[] left, boolean isTimed, double stage) {
        this.slots = slots;
        this.isTimed = isTimed;
        this.stage = stage;
        this.left = left.clone();
        share = Arrays.stream(left).sum() / Math.max(1, slots);
        used = new double[left.length];
    }

    /** Counts a copy that has a slot in any case. */
    void take(int client, double seconds) {
        used[client] += isTimed ? seconds : 1;
        last = Math.max(last, seconds);
    }

    /** Returns the positions of copies in their new order. Copies without a slot follow in their old order. */
    List<Integer> order(List<Copy> copies) {
        double[] open = left.clone();
        List<Copy> waiting = new ArrayList<>(copies);
        List<Integer> order = new ArrayList<>();
        while (order.size() < slots && !waiting.isEmpty()) {
            Copy next = choose(
                    stage < WarmupStage.NONE
                            ? waiting.stream().filter(this::isInStage).toList()
                            : waiting,
                    open);
            if (next == null) {
                break;
            }
            waiting.removeIf(copy -> copy == next);
            order.add(next.place);
            take(next.client, next.seconds);
            open[next.client] -= next.seconds;
        }
        waiting.forEach(copy -> order.add(copy.place));
        return order;
    }

    private boolean isInStage(Copy copy) {
        double before = used[copy.client];
        return before == 0 || before + (isTimed ? copy.seconds : 1) <= stage * WarmupPolicy.STAGE_FITS;
    }

    /** Returns the copy for the next slot, or null if there is none. */
    private Copy choose(List<Copy> waiting, double[] open) {
        double soonest =
                waiting.stream().mapToDouble(copy -> used[copy.client]).min().orElse(0);
        List<Copy> near =
                waiting.stream().filter(copy -> used[copy.client] == soonest).toList();
        int weight = near.stream().mapToInt(Copy::weight).max().orElse(0);
        near = near.stream().filter(copy -> copy.weight == weight).toList();
        int top = -1;
        for (Copy copy : near) {
            top = top < 0 || open[copy.client] > open[top] ? copy.client : top;
        }
        if (top >= 0 && (last < 0 || open[top] >= share)) {
            int only = top;
            near = near.stream().filter(copy -> copy.client == only).toList();
        }
        return stage < WarmupStage.NONE
                ? near.stream().min(Comparator.comparingDouble(Copy::seconds)).orElse(null)
                : findFitting(near, open);
    }

    /** Returns a copy that takes about as long as the longest with a slot, so that one follow-up serves both. */
    private Copy findFitting(List<Copy> copies, double[] open) {
        double least = copies.stream()
                .mapToDouble(copy -> Math.abs(copy.seconds - last))
                .min()
                .orElse(0);
        Copy best = null;
        for (Copy copy : copies) {
            boolean fits = last < 0 || Math.abs(copy.seconds - last) <= Math.max(least, WarmupPolicy.TOGETHER * last);
            if (fits && (best == null || (last >= 0 && open[copy.client] > open[best.client]))) {
                best = copy;
            }
        }
        return best;
    }

    /**
     * Returns which copies are in a stage: copies under way, one on each client, and copies that fit.
     *
     * @param copies in their order; weight 1 marks copies under way
     */
    static boolean[] findInStage(List<Copy> copies, double stage) {
        Map<Integer, Double> used = new HashMap<>();
        boolean[] fits = new boolean[copies.size()];
        for (int k = 0; k < fits.length; k++) {
            Copy copy = copies.get(k);
            Double before = used.get(copy.client);
            fits[k] = copy.weight > 0 || before == null || before + copy.seconds <= stage * WarmupPolicy.STAGE_FITS;
            if (fits[k]) {
                used.merge(copy.client, copy.seconds, Double::sum);
            }
        }
        return fits;
    }
}
