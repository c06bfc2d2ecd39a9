package io.github.optassign.model;

import java.util.BitSet;
import java.util.stream.IntStream;

/**
 * The spread of tasks' copies over the values of the configured tags, such as zones or clusters
 * ({@code rack.aware.assignment.tags}, goal {@code tag_spread}, KIP-708).
 */
public final class TagSpread {
    private final Snapshot snapshot;
    private final int tags;

    public TagSpread(Snapshot snapshot) {
        this.snapshot = snapshot;
        tags = snapshot.standbysPerTask() > 0 && isAnyTagVaried(snapshot) ? snapshot.tagCount() : 0;
    }

    /** Returns whether clients differ in any tag; a tag of one value, such as the watcher's mark, does not count. */
    private static boolean isAnyTagVaried(Snapshot snapshot) {
        return IntStream.range(0, snapshot.tagCount())
                .anyMatch(k -> IntStream.range(1, snapshot.clientCount())
                        .anyMatch(c -> snapshot.tag(c, k) != snapshot.tag(0, k)));
    }

    /** Returns whether tasks have standbys and clients differ in any tag, so that copies can be spread. */
    public boolean matters() {
        return tags > 0;
    }

    /** Returns whether all copies of each logged task have different values of each tag. */
    public boolean isComplete(Placement placement) {
        long copies = snapshot.tasks()
                .filter(snapshot::isLogged)
                .mapToLong(t -> 1 + placement.standby()[t].length)
                .sum();
        return countDistinctValues(placement) == tags * copies;
    }

    /** Returns the number of distinct values that a logged task's copies have of a tag, summed over tasks and tags. */
    public long countDistinctValues(Placement placement) {
        return IntStream.range(0, tags > 0 ? snapshot.taskCount() : 0)
                .filter(snapshot::isLogged)
                .mapToLong(t -> countValues(
                        Snapshot.union(placement.standby()[t], placement.active()[t])))
                .sum();
    }

    private long countValues(int[] copies) {
        int count = 0;
        for (int k = 0; k < tags; k++) {
            BitSet values = new BitSet();
            for (int c : copies) {
                int value = snapshot.tag(c, k);
                if (value >= 0) {
                    values.set(value);
                }
            }
            count += values.cardinality();
        }
        return count;
    }
}
