package io.github.optassign.model;

/**
 * What else is known of the clients.
 *
 * @param sizes per client what its share is proportional to: threads times capacity in millionths
 * @param draining per client whether it is about to leave
 * @param tags per client and configured tag ({@code rack.aware.assignment.tags}) the number of its value, counted from
 *     0; -1: it has none
 */
public record Traits(long[] sizes, boolean[] draining, int[][] tags) {
    /** How many units a thread of capacity 1 has. */
    public static final long UNITS = 1_000_000;

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
