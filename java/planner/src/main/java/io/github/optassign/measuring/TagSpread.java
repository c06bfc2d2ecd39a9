package io.github.optassign.measuring;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * In how many values of the configured tags (zones, clusters) the copies of tasks differ:
 * {@code rack.aware.assignment.tags}, goal tag_spread (KIP-708).
 */
public final class TagSpread {
    private final Snapshot snapshot;
    private final int tags;
    /** The first client of each combination of values, of those that do not drain. */
    private final int[] examples;

    public TagSpread(Snapshot snapshot) {
        this.snapshot = snapshot;
        tags = snapshot.standbysPerTask() > 0 && isAnyApart(snapshot) ? snapshot.tagCount() : 0;
        examples = findExamples();
    }

    private int[] findExamples() {
        Set<Object> seen = new HashSet<>();
        return IntStream.range(0, tags > 0 ? snapshot.clientCount() : 0)
                .filter(c -> !snapshot.isDraining(c))
                .filter(c -> seen.add(IntStream.range(0, tags)
                        .mapToObj(k -> snapshot.tag(c, k))
                        .collect(Collectors.toList())))
                .toArray();
    }

    /** A tag of one value everywhere, as the watcher's mark is, places nothing. */
    private static boolean isAnyApart(Snapshot snapshot) {
        return IntStream.range(0, snapshot.tagCount())
                .anyMatch(k -> IntStream.range(1, snapshot.clientCount())
                        .anyMatch(c -> snapshot.tag(c, k) != snapshot.tag(0, k)));
    }

    /** Whether there are tags in which copies can differ. */
    public boolean matters() {
        return tags > 0;
    }

    /** How many values a copy of task t on client c adds to those of the copies that the placement has. */
    public int gain(Placement placement, int t, int c) {
        return gain(placement, t, c, -1);
    }

    /** The same without the copy on a client that would give it up. */
    public int gain(Placement placement, int t, int c, int without) {
        int gain = 0;
        for (int k = 0; k < tags; k++) {
            int value = snapshot.tag(c, k);
            int active = placement.active()[t];
            boolean isNew = value >= 0 && (active == without || snapshot.tag(active, k) != value);
            for (int standby : placement.standby()[t]) {
                isNew &= standby == without || standby == c || snapshot.tag(standby, k) != value;
            }
            gain += isNew ? 1 : 0;
        }
        return gain;
    }

    /** The greatest gain by one more copy of task t on a client that does not drain; 0 where tags do not matter. */
    public int findGreatestGain(Placement placement, int t) {
        int greatest = 0;
        for (int c : examples) {
            if (!placement.hasCopy(t, c)) { // otherwise clients with the same values add nothing
                greatest = Math.max(greatest, gain(placement, t, c));
            }
        }
        return greatest;
    }

    /** How many values the copies of all logged tasks have, summed over tasks and tags. */
    public long reached(Placement placement) {
        long reached = 0;
        for (int t = 0; t < snapshot.taskCount() && tags > 0; t++) {
            if (!snapshot.isLogged(t)) {
                continue;
            }
            for (int k = 0; k < tags; k++) {
                reached += snapshot.tag(placement.active()[t], k) >= 0 ? 1 : 0;
                int[] standbys = placement.standby()[t];
                for (int i = 0; i < standbys.length; i++) {
                    int value = snapshot.tag(standbys[i], k);
                    boolean isNew = value >= 0 && snapshot.tag(placement.active()[t], k) != value;
                    for (int j = 0; j < i; j++) {
                        isNew &= snapshot.tag(standbys[j], k) != value;
                    }
                    reached += isNew ? 1 : 0;
                }
            }
        }
        return reached;
    }
}
