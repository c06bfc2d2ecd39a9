package io.github.optassign.model;

import io.github.optassign.policy.InputPolicy;
import java.util.List;
import java.util.Map;

/**
 * Further facts of the clients.
 *
 * @param sizes per client what its share is proportional to: threads times capacity in millionths
 * @param draining per client whether it is about to leave
 * @param tags per client and configured tag ({@code rack.aware.assignment.tags}) the number of its value, counted from
 *     0, or -1 if it has none
 */
public record Traits(long[] sizes, boolean[] draining, int[][] tags) {
    /** How many units a thread of capacity 1 has. */
    public static final long UNITS = 1_000_000;

    /** Client tag of the relative capacity of one thread. */
    public static final String CAPACITY_TAG = "optassign.capacity";

    /** Client tags by which an instance says that it is about to leave; either is enough. */
    public static final List<String> DRAIN_TAGS = List.of("optassign.drain", "optassign.draining");

    /** Returns whether a client with these tags says that it is about to leave. */
    public static boolean drains(Map<String, String> tags) {
        return DRAIN_TAGS.stream().anyMatch(key -> "true".equalsIgnoreCase(tags.get(key)));
    }

    /** Reads the capacity of one thread, in millionths, of client tags; -1: the value is not allowed. */
    public static long readCapacity(Map<String, String> tags) {
        try {
            double capacity = Double.parseDouble(tags.getOrDefault(CAPACITY_TAG, "1"));
            boolean isAllowed = capacity >= InputPolicy.LEAST_CAPACITY && capacity <= InputPolicy.MOST_CAPACITY;
            return isAllowed ? Math.round(capacity * UNITS) : -1;
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
