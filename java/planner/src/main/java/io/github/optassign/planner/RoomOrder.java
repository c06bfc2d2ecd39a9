package io.github.optassign.planner;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;

/**
 * Clients by how soon each is to get one more copy; only as many are visited as it takes to find the first one that may
 * have it. Places may change, but only towards the end: so whoever is first with a place that is still right is the
 * first.
 */
final class RoomOrder {
    /**
     * A client's place: the least first.
     *
     * @param reluctance before all else
     * @param load next
     */
    record Place(int reluctance, double load, int client) {}

    private static final Comparator<Place> ORDER = Comparator.comparingInt(Place::reluctance)
            .thenComparingDouble(Place::load)
            .thenComparingInt(Place::client);

    private final PriorityQueue<Place> queue = new PriorityQueue<>(ORDER);
    private final IntFunction<Place> measuring;

    /** Puts clients in order, by the place that each has now. */
    RoomOrder(int clients, IntFunction<Place> measuring) {
        this.measuring = measuring;
        for (int c = 0; c < clients; c++) {
            queue.add(measuring.apply(c));
        }
    }

    /** The first client that may have the copy; -1: none may. */
    int findFirst(IntPredicate mayHave) {
        List<Place> others = new ArrayList<>();
        int found = -1;
        while (found < 0 && !queue.isEmpty()) {
            Place first = queue.poll();
            Place now = measuring.apply(first.client);
            if (!now.equals(first)) {
                queue.add(now);
            } else {
                others.add(first);
                found = mayHave.test(first.client) ? first.client : -1;
            }
        }
        queue.addAll(others);
        return found;
    }
}
