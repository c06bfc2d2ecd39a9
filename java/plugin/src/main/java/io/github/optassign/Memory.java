package io.github.optassign;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What outlives a rebalance, per application: Kafka makes a new assignor for each (R10, R11).
 *
 * <p>Only the group leader's process has it. Another member that becomes leader starts without, and the service, which
 * remembers too, helps out.
 */
final class Memory {
    private static final ConcurrentMap<String, Memory> BY_APPLICATION = new ConcurrentHashMap<>();

    private final ChangelogEnds changelogEnds = new ChangelogEnds();
    private volatile Applied applied;

    private Memory() {}

    /**
     * The last answer that was applied.
     *
     * @param json the TaskAssignment as the service, or the fallback, wrote it
     * @param answeredAt when it was decided, milliseconds since 1970 by the decider's clock
     * @param answer the same, read
     * @param threads process id to number of threads then: what the plan was made for
     * @param owners task to those who may list it as active as long as no other leader decides
     * @param decidedNanos when it was decided, as of System.nanoTime
     */
    record Applied(
            String json,
            long answeredAt,
            Answer answer,
            Map<String, Integer> threads,
            Map<String, Set<String>> owners,
            long decidedNanos) {
        /** An answer that was decided just now, for this snapshot. */
        static Applied of(String json, long answeredAt, Answer answer, Snapshot snapshot) {
            Map<String, Integer> threads = new HashMap<>();
            Map<String, Set<String>> owners = new HashMap<>();
            for (Answer.Client client : answer.clients()) {
                client.active().forEach(task -> owners.merge(task, Set.of(client.processId()), Applied::union));
            }
            for (int c = 0; c < snapshot.clientCount(); c++) {
                String client = snapshot.clientName(c);
                threads.put(client, snapshot.threads(c));
                BitSet active = snapshot.previousActive(c);
                for (int t = active.nextSetBit(0); t >= 0; t = active.nextSetBit(t + 1)) {
                    owners.merge(snapshot.taskName(t), Set.of(client), Applied::union);
                }
            }
            return new Applied(json, answeredAt, answer, threads, owners, System.nanoTime());
        }

        private static Set<String> union(Set<String> some, Set<String> more) {
            return some.containsAll(more)
                    ? some
                    : Stream.concat(some.stream(), more.stream()).collect(Collectors.toUnmodifiableSet());
        }

        /**
         * Whether another leader has decided since, so that this is not the last answer any more: a process that lost
         * the lead and has it again still has what it remembered then, and Kafka does not say that somebody else led in
         * between.
         *
         * <p>Told from a task whose owner it had not been given to and had not been with. Until another leader decides,
         * a task is active with who is to have it, or nowhere (first pass), or, where the answer did not arrive, with
         * who had it.
         */
        boolean overtaken(Snapshot now) {
            for (int c = 0; c < now.clientCount(); c++) {
                BitSet active = now.previousActive(c);
                for (int t = active.nextSetBit(0); t >= 0; t = active.nextSetBit(t + 1)) {
                    Set<String> possible = owners.get(now.taskName(t));
                    if (possible != null && !possible.contains(now.clientName(c))) {
                        return true;
                    }
                }
            }
            return false;
        }

        /**
         * A date of today for an answer of ours that replaces another: later than that, also where that was dated by a
         * clock that is ahead. Else the service would take its own older answer for the newer one.
         *
         * @param last what is replaced; null: nothing
         */
        static long dateAfter(Applied last) {
            long now = System.currentTimeMillis();
            if (last == null) {
                return now;
            }
            long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - last.decidedNanos);
            return Math.max(now, last.answeredAt + 1 + sinceMs);
        }
    }

    /** The memory of an application, shared by all its assignors in this JVM. */
    static Memory of(String application) {
        return BY_APPLICATION.computeIfAbsent(application, name -> new Memory());
    }

    /** As after a restart of the JVM. For tests. */
    static void clearAll() {
        BY_APPLICATION.clear();
    }

    ChangelogEnds changelogEnds() {
        return changelogEnds;
    }

    /** The last applied answer; null: none. */
    Applied applied() {
        return applied;
    }

    void applied(Applied now) {
        applied = now;
    }
}
