package io.github.optassign.model;

import io.github.optassign.policy.InputPolicy;
import java.util.List;
import java.util.Map;

/**
 * The sizes, draining and tags of the clients.
 *
 * @param sizes per client its size, threads times capacity in millionths, to which its share is proportional
 * @param draining per client whether it is about to leave
 * @param tags per client and configured tag ({@code rack.aware.assignment.tags}) the number of its value, counted from
 *     0, or -1 if the client lacks the tag
 */
public record Traits(long[] sizes, boolean[] draining, int[][] tags) {
    /** The size of one thread of capacity 1. */
    public static final long UNITS = 1_000_000;

    /** The client tag with the relative capacity of one thread. */
    public static final String CAPACITY_TAG = "optassign.capacity";

    /** The client tags that mark a client as about to leave; either is enough. */
    public static final List<String> DRAIN_TAGS = List.of("optassign.drain", "optassign.draining");

    /** Returns whether these client tags mark the client as about to leave. */
    public static boolean drains(Map<String, String> tags) {
        return DRAIN_TAGS.stream().anyMatch(key -> "true".equalsIgnoreCase(tags.get(key)));
    }

    /** Returns the capacity of one thread, in millionths, from client tags, or -1 if the value is not allowed. */
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
