package io.github.optassign.memory;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * What is remembered of one application between rebalances: Kafka makes a new assignor for each (R10, R11).
 *
 * <p>Only the process of the group's leader remembers anything. Another member that becomes leader starts without, and
 * the service, which remembers answers too, makes up for it.
 */
public final class Memory {
    private static final ConcurrentMap<String, Memory> BY_APPLICATION = new ConcurrentHashMap<>();

    private final ChangelogEnds changelogEnds = new ChangelogEnds();
    private volatile AppliedAnswer lastApplied;

    private Memory() {}

    /** The memory of an application, shared by all its assignors in this JVM. */
    public static Memory of(String application) {
        return BY_APPLICATION.computeIfAbsent(application, name -> new Memory());
    }

    /** Forgets everything, as a restart of the JVM would. For tests. */
    static void clearAll() {
        BY_APPLICATION.clear();
    }

    public ChangelogEnds changelogEnds() {
        return changelogEnds;
    }

    /** The last answer that Kafka has taken; null: none. */
    public AppliedAnswer lastApplied() {
        return lastApplied;
    }

    /** Remembers an answer, now that Kafka has taken it. */
    public void remember(AppliedAnswer applied) {
        lastApplied = applied;
    }
}
