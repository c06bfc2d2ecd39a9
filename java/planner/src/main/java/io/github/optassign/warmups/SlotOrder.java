package io.github.optassign.warmups;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Gives warm-up slots to copies that are alike otherwise, clients apart: copies on one disk share its rate
 * (docs/rules.md, "Warm-ups", 7).
 */
final class SlotOrder {
    /** Copies end together if they do so within this share of the time. */
    private static final double TOGETHER = 0.1;

    private final int slots;
    /** Per client the seconds that its queued copies without a slot take. */
    private final double[] left;
    /** A slot's share of what all clients have left at first. */
    private final double share;
    /** Per client the slots that it has. */
    private final int[] used;
    /** When the last of the copies with a slot is done, seconds; -1: there is none. */
    private double last = -1;

    /**
     * A copy that wants a slot.
     *
     * @param weight the greater the sooner, of the clients with the fewest slots
     * @param place in the queue as it came
     */
    record Copy(int client, double seconds, int weight, int place) {}

    /**
     * Begins to give slots.
     *
     * @param left per client the seconds that all of its queued copies take; not changed
     */
    SlotOrder(int slots, double[] left) {
        this.slots = slots;
        this.left = left.clone();
        share = Arrays.stream(left).sum() / Math.max(1, slots);
        used = new int[left.length];
    }

    /** Takes down that a copy has a slot whatever the others are. */
    void take(int client, double seconds) {
        used[client]++;
        last = Math.max(last, seconds);
    }

    /** Puts copies in order, as many as may get a slot; the others follow as they came. Returns their places. */
    List<Integer> order(List<Copy> copies) {
        double[] open = left.clone();
        List<Copy> waiting = new ArrayList<>(copies);
        List<Integer> order = new ArrayList<>();
        while (order.size() < slots && !waiting.isEmpty()) {
            Copy next = choose(waiting, open);
            waiting.remove(next);
            order.add(next.place);
            take(next.client, next.seconds);
            open[next.client] -= next.seconds;
        }
        waiting.forEach(copy -> order.add(copy.place));
        return order;
    }

    private Copy choose(List<Copy> waiting, double[] open) {
        int fewest = Integer.MAX_VALUE;
        int weight = 0;
        for (Copy copy : waiting) {
            if (used[copy.client] < fewest || (used[copy.client] == fewest && copy.weight > weight)) {
                fewest = used[copy.client];
                weight = copy.weight;
            }
        }
        int top = -1;
        for (Copy copy : waiting) {
            boolean isNear = used[copy.client] == fewest && copy.weight == weight;
            if (isNear && (top < 0 || open[copy.client] > open[top])) {
                top = copy.client;
            }
        }
        boolean onlyTop = last < 0 || open[top] >= share;
        double least = Double.POSITIVE_INFINITY;
        for (Copy copy : waiting) {
            if (isNear(copy, fewest, weight, onlyTop, top)) {
                least = Math.min(least, Math.abs(copy.seconds - last));
            }
        }
        Copy best = null;
        for (Copy copy : waiting) {
            boolean fits = last < 0 || Math.abs(copy.seconds - last) <= Math.max(least, TOGETHER * last);
            if (fits
                    && isNear(copy, fewest, weight, onlyTop, top)
                    && (best == null || (last >= 0 && open[copy.client] > open[best.client]))) {
                best = copy;
            }
        }
        return best;
    }

    private boolean isNear(Copy copy, int fewest, int weight, boolean onlyTop, int top) {
        return used[copy.client] == fewest && copy.weight == weight && (!onlyTop || copy.client == top);
    }
}
