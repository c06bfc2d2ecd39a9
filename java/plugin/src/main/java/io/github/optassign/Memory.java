package io.github.optassign;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

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

    private Memory() {
    }

    /**
     * The last answer that was applied.
     *
     * @param json       the TaskAssignment as the service, or the fallback, wrote it
     * @param answeredAt when it was decided, milliseconds since 1970 by the decider's clock
     * @param answer     the same, read
     * @param threads    process id to number of threads then: what the plan was made for
     */
    record Applied(String json, long answeredAt, Answer answer, Map<String, Integer> threads) {
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
