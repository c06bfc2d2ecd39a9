package io.github.optassign.learn;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The memory of one application between rebalances (R10, R11), since Kafka creates a new assignor for each rebalance.
 *
 * <p>Only the process of the group's leader has a memory. A new leader starts without one; the service remembers
 * answers too. When an application of this JVM rebalances, memories unused for {@link #LONGEST_UNUSED_MS} are dropped,
 * and the least recently used beyond {@link #MOST_APPLICATIONS}.
 */
public final class Memory {
    /**
     * The most applications whose last answer a JVM remembers. Each has a client of its own, and most JVMs run a few.
     */
    static final int MOST_APPLICATIONS = 64;
    /**
     * The time after which the unused memory of an application is dropped: a week. An application that starts later has
     * new state.
     */
    static final long LONGEST_UNUSED_MS = 604_800_000;

    /** The memories by application, least recently used first. Guarded by itself. */
    private static final Map<String, Memory> BY_APPLICATION = new LinkedHashMap<>(16, 0.75f, true);

    private final ChangelogEnds changelogEnds = new ChangelogEnds();
    private final Breaker breaker = new Breaker();
    private final InputRates inputRates = new InputRates();
    private volatile AppliedAnswer lastApplied;
    private volatile TimeWithoutProgress timeWithoutProgress;
    private long lastUsed;

    private Memory() {}

    /** Returns the memory of an application, shared by all its assignors in this JVM. */
    public static Memory of(String application) {
        return of(application, System.nanoTime());
    }

    static Memory of(String application, long now) {
        synchronized (BY_APPLICATION) {
            Memory memory = BY_APPLICATION.computeIfAbsent(application, name -> new Memory());
            memory.lastUsed = now;
            long longest = TimeUnit.MILLISECONDS.toNanos(LONGEST_UNUSED_MS);
            BY_APPLICATION.values().removeIf(other -> now - other.lastUsed > longest);
            while (BY_APPLICATION.size() > MOST_APPLICATIONS) {
                BY_APPLICATION.remove(BY_APPLICATION.keySet().iterator().next());
            }
            return memory;
        }
    }

    static int count() {
        synchronized (BY_APPLICATION) {
            return BY_APPLICATION.size();
        }
    }

    /** Forgets everything, as a restart of the JVM would. Visible for testing. */
    static void clearAll() {
        synchronized (BY_APPLICATION) {
            BY_APPLICATION.clear();
        }
    }

    public ChangelogEnds changelogEnds() {
        return changelogEnds;
    }

    /** Returns the growth rates of tasks' input, measured while this JVM led the group. */
    public InputRates inputRates() {
        return inputRates;
    }

    public Breaker breaker() {
        return breaker;
    }

    /** Returns the last answer that Kafka has accepted, or null if there is none or its date is implausible. */
    public AppliedAnswer lastApplied() {
        AppliedAnswer last = lastApplied;
        if (last != null && !AppliedAnswer.isPlausibleDate(last.answeredAt())) {
            forget();
            return null;
        }
        return last;
    }

    /** Returns the time without progress as of the last accepted answer, or null if it is not counted. */
    public TimeWithoutProgress timeWithoutProgress() {
        return timeWithoutProgress;
    }

    /** Remembers an answer that Kafka has accepted, with the time without progress, or null if it is not counted. */
    public void remember(AppliedAnswer applied, TimeWithoutProgress counted) {
        lastApplied = applied;
        timeWithoutProgress = counted;
    }

    /** Forgets the last answer, because its date is implausible or the service refuses it. */
    public void forget() {
        lastApplied = null;
    }
}
