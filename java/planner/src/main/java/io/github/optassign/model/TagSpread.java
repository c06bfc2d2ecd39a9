package io.github.optassign.model;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * In how many values of the configured tags (zones, clusters) the copies of tasks differ:
 * {@code rack.aware.assignment.tags}, goal tag_spread (KIP-708).
 */
public final class TagSpread {
    private final Snapshot snapshot;
    private final int tags;

    public TagSpread(Snapshot snapshot) {
        this.snapshot = snapshot;
        tags = snapshot.standbysPerTask() > 0 && isAnyApart(snapshot) ? snapshot.tagCount() : 0;
    }

    /**
     * Returns whether clients differ in any tag. A tag of one value everywhere, such as the watcher's mark, places
     * nothing.
     */
    private static boolean isAnyApart(Snapshot snapshot) {
        return IntStream.range(0, snapshot.tagCount())
                .anyMatch(k -> IntStream.range(1, snapshot.clientCount())
                        .anyMatch(c -> snapshot.tag(c, k) != snapshot.tag(0, k)));
    }

    /** Returns whether there are tags in which copies can differ. */
    public boolean matters() {
        return tags > 0;
    }

    /** Returns whether all copies of each logged task differ in all tags. */
    public boolean isComplete(Placement placement) {
        long copies = IntStream.range(0, snapshot.taskCount())
                .filter(snapshot::isLogged)
                .mapToLong(t -> 1 + placement.standby()[t].length)
                .sum();
        return reached(placement) == tags * copies;
    }

    /** Returns how many values the copies of all logged tasks have, summed over tasks and tags. */
    public long reached(Placement placement) {
        return IntStream.range(0, tags > 0 ? snapshot.taskCount() : 0)
                .filter(snapshot::isLogged)
                .mapToLong(t -> countValues(
                        Snapshot.and(placement.standby()[t], placement.active()[t])))
                .sum();
    }

    private long countValues(int[] copies) {
        return IntStream.range(0, tags)
                .mapToLong(k -> Arrays.stream(copies)
                        .map(c -> snapshot.tag(c, k))
                        .filter(value -> value >= 0)
                        .distinct()
                        .count())
                .sum();
    }
}
