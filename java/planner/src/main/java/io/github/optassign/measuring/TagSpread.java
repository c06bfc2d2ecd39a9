package io.github.optassign.measuring;

import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * In how many values of the configured tags (zones, clusters) the copies of tasks differ:
 * {@code rack.aware.assignment.tags}, goal tag_spread (KIP-708).
 */
public final class TagSpread {
    private final Snapshot snapshot;
    private final int tags;
    /** Per client its kind: clients of one kind have the same values. */
    private final int[] kinds;
    /** Per kind a client, one that does not drain if there is one. */
    private final int[] examples;

    public TagSpread(Snapshot snapshot) {
        this.snapshot = snapshot;
        tags = snapshot.standbysPerTask() > 0 && isAnyApart(snapshot) ? snapshot.tagCount() : 0;
        kinds = new int[tags > 0 ? snapshot.clientCount() : 0];
        examples = findKinds();
    }

    private int[] findKinds() {
        Map<List<Integer>, Integer> found = new HashMap<>();
        int[] first = new int[kinds.length];
        for (int c = 0; c < kinds.length; c++) {
            List<Integer> values = new ArrayList<>(tags);
            for (int k = 0; k < tags; k++) {
                values.add(snapshot.tag(c, k));
            }
            int before = found.size();
            kinds[c] = found.computeIfAbsent(values, none -> before);
            if (kinds[c] == before || (snapshot.isDraining(first[kinds[c]]) && !snapshot.isDraining(c))) {
                first[kinds[c]] = c;
            }
        }
        return Arrays.copyOf(first, found.size());
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

    /** The kind of a client, where tags matter: clients of one kind have the same values. */
    public int kind(int c) {
        return kinds[c];
    }

    /** Per kind the gain by one more copy of task t on a client without one; nothing where tags do not matter. */
    public int[] findGains(Placement placement, int t) {
        int[] gains = new int[examples.length];
        for (int kind = 0; kind < gains.length; kind++) {
            // A copy on the example has all values of the kind already.
            gains[kind] = placement.hasCopy(t, examples[kind]) ? 0 : gain(placement, t, examples[kind]);
        }
        return gains;
    }

    /** The greatest gain by one more copy of task t on a client that does not drain; 0 where tags do not matter. */
    public int findGreatestGain(Placement placement, int t) {
        int greatest = 0;
        int[] gains = findGains(placement, t);
        for (int kind = 0; kind < gains.length; kind++) {
            greatest = Math.max(greatest, snapshot.isDraining(examples[kind]) ? 0 : gains[kind]);
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
