package io.github.optassign.model;

import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The clients of each task's copies, by the indices of a {@link Snapshot}. The arrays may be written to.
 *
 * @param active the client of each task's active, or -1 if it has no active
 * @param standby the clients of each task's standbys, sorted
 * @param warmup the clients of each task's warm-ups, sorted; Kafka sees them as standbys
 */
public record Placement(int[] active, int[][] standby, int[][] warmup) {
    /** Creates a placement without copies. */
    public static Placement empty(int tasks) {
        int[] active = new int[tasks];
        Arrays.fill(active, -1);
        return new Placement(active, new int[tasks][0], new int[tasks][0]);
    }

    /** Creates a placement with a copy of this array as actives, and without other copies. */
    public static Placement ofActives(int[] active) {
        return new Placement(active.clone(), new int[active.length][0], new int[active.length][0]);
    }

    /** Returns an independent copy of this placement. */
    public Placement copy() {
        return new Placement(active.clone(), standby.clone(), warmup.clone());
    }

    public boolean hasStandby(int t, int c) {
        for (int client : standby[t]) { // few, and asked for often
            if (client == c) {
                return true;
            }
        }
        return false;
    }

    public boolean hasWarmup(int t, int c) {
        return Arrays.binarySearch(warmup[t], c) >= 0;
    }

    /** Returns whether client c has the active or a standby of task t; a warm-up does not count. */
    public boolean hasCopy(int t, int c) {
        return active[t] == c || hasStandby(t, c);
    }

    public void addStandby(int t, int c) {
        standby[t] = Snapshot.union(standby[t], c);
    }

    public void addWarmup(int t, int c) {
        warmup[t] = Snapshot.union(warmup[t], c);
    }

    public void removeStandby(int t, int c) {
        standby[t] = Arrays.stream(standby[t]).filter(client -> client != c).toArray();
    }

    /** Returns the number of actives of each client; every task must have an active. */
    public long[] countActives(int clients) {
        long[] count = new long[clients];
        for (int c : active) {
            count[c]++;
        }
        return count;
    }

    public int warmupCount() {
        return Arrays.stream(warmup).mapToInt(clients -> clients.length).sum();
    }

    /** Returns whether actives and standbys are the same; warm-ups, which are temporary, may differ. */
    public boolean hasSameCopies(Placement other) {
        return Arrays.equals(active, other.active) && Arrays.deepEquals(standby, other.standby);
    }

    /** Returns whether a client has over twice the upper bound of its share of actives; no preset makes such a plan. */
    public boolean isLopsided(Snapshot snapshot) {
        long[] count = countActives(snapshot.clientCount());
        long[] most = Shares.ofActives(snapshot).high();
        return IntStream.range(0, count.length).anyMatch(c -> count[c] > 2 * most[c]);
    }

    /** Returns, per client, the upper bound of its share of actives less its actives; negative for too many. */
    public long[] measureRoom(Snapshot snapshot) {
        long[] room = Shares.ofActives(snapshot).high().clone();
        for (int c : active) {
            room[c]--;
        }
        return room;
    }

    /** Returns whether any client has more actives than its share allows. */
    public boolean isAnyAboveShare(Snapshot snapshot) {
        return Arrays.stream(measureRoom(snapshot)).anyMatch(room -> room < 0);
    }

    /**
     * Returns the imbalance, the sum over five families of counts: actives, stateful actives and copies of logged tasks
     * per client; actives and copies of logged tasks per client and subtopology. Every task must have an active; 0
     * means balanced.
     */
    public long imbalance(Snapshot snapshot) {
        int copies = snapshot.standbysPerTask() + 1;
        return Shares.ofActives(snapshot).imbalance(countActives(snapshot.clientCount()))
                + measure(snapshot, false, snapshot::isStateful, 1)
                + measure(snapshot, false, snapshot::isLogged, copies)
                + measure(snapshot, true, t -> true, 1)
                + measure(snapshot, true, snapshot::isLogged, copies);
    }

    /**
     * Returns the imbalance of one family: the copies of the counted tasks, or of their actives if
     * {@code copiesPerTask} is 1.
     */
    private long measure(Snapshot snapshot, boolean bySubtopology, IntPredicate isCounted, int copiesPerTask) {
        int families = bySubtopology ? snapshot.subtopologyCount() : 1;
        long[][] count = new long[families][snapshot.clientCount()];
        long[] tasks = new long[families];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (isCounted.test(t)) {
                int g = bySubtopology ? snapshot.subtopology(t) : 0;
                tasks[g]++;
                count[g][active[t]]++;
                for (int i = 0; i < standby[t].length && copiesPerTask > 1; i++) {
                    count[g][standby[t][i]]++;
                }
            }
        }
        Shares[] shares = Shares.ofEach(tasks, copiesPerTask, snapshot);
        return IntStream.range(0, families)
                .mapToLong(g -> shares[g].imbalance(count[g]))
                .sum();
    }

    /** Returns whether all copies of each logged task have different values of each tag. */
    public boolean isSpread(Snapshot snapshot) {
        long copies = snapshot.tasks()
                .filter(snapshot::isLogged)
                .mapToLong(t -> 1 + standby[t].length)
                .sum();
        long worth = IntStream.range(0, snapshot.tagCount())
                .mapToLong(snapshot::tagWorth)
                .sum();
        return !snapshot.hasTagsToSpread() || measureTagSpread(snapshot) == worth * copies;
    }

    /**
     * Returns the worth of the distinct values, such as zones or clusters, that a logged task's copies have of a tag,
     * summed over tasks and tags ({@code rack.aware.assignment.tags}, goal {@code tag_spread}, KIP-708). A value of the
     * last tag is worth 1. Returns 0 if there is nothing to spread over.
     */
    public long measureTagSpread(Snapshot snapshot) {
        return snapshot.hasTagsToSpread()
                ? snapshot.tasks()
                        .filter(snapshot::isLogged)
                        .mapToLong(t -> measureTagSpread(snapshot, Snapshot.union(standby[t], active[t])))
                        .sum()
                : 0;
    }

    private static long measureTagSpread(Snapshot snapshot, int[] copies) {
        long worth = 0;
        for (int k = 0; k < snapshot.tagCount(); k++) {
            BitSet values = new BitSet();
            for (int c : copies) {
                int value = snapshot.tag(c, k);
                if (value >= 0) {
                    values.set(value);
                }
            }
            worth += values.cardinality() * snapshot.tagWorth(k);
        }
        return worth;
    }
}
