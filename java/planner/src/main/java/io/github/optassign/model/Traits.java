package io.github.optassign.model;

import java.util.List;
import java.util.Map;

/**
 * Further facts of the clients.
 *
 * @param sizes per client what its share is proportional to: threads times capacity in millionths
 * @param draining per client whether it is about to leave
 * @param tags per client and configured tag ({@code rack.aware.assignment.tags}) the number of its value, counted from
 *     0; -1: it has none
 */
public record Traits(long[] sizes, boolean[] draining, int[][] tags) {
    /** How many units a thread of capacity 1 has. */
    public static final long UNITS = 1_000_000;

    /** Client tags by which an instance says that it is about to leave; either is enough. */
    public static final List<String> DRAIN_TAGS = List.of("optassign.drain", "optassign.draining");

    /** Whether a client with these tags says that it is about to leave. */
    public static boolean drains(Map<String, String> tags) {
        return DRAIN_TAGS.stream().anyMatch(key -> "true".equalsIgnoreCase(tags.get(key)));
    }

    /** Whether there is a client that does not drain. */
    public boolean isAnyStaying() {
        for (boolean drains : draining) {
            if (!drains) {
                return true;
            }
        }
        return false;
    }
}
