package io.github.optassign.learn;

import io.github.optassign.policy.MemoryPolicy;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The memory of one application between rebalances: Kafka makes a new assignor for each (R10, R11).
 *
 * <p>Only the process of the group's leader remembers anything. Another member that becomes leader starts without, and
 * the service, which remembers answers too, makes up for it. The memory of applications that are gone is dropped when
 * another one of the JVM rebalances: beyond {@link MemoryPolicy#MOST_APPLICATIONS}, or
 * {@link MemoryPolicy#LONGEST_UNUSED_MS} after its last rebalance.
 */
public final class Memory {

    /** Guarded by itself; the application that was asked for last comes last. */
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
            long longest = TimeUnit.MILLISECONDS.toNanos(MemoryPolicy.LONGEST_UNUSED_MS);
            BY_APPLICATION.values().removeIf(other -> now - other.lastUsed > longest);
            while (BY_APPLICATION.size() > MemoryPolicy.MOST_APPLICATIONS) {
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

    /** Forgets everything, as a restart of the JVM would. For tests. */
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

    /** Returns the last answer that Kafka has taken, or null if there is none or its date is implausible. */
    public AppliedAnswer lastApplied() {
        AppliedAnswer last = lastApplied;
        if (last != null && !AppliedAnswer.isPlausibleDate(last.answeredAt())) {
            forget();
            return null;
        }
        return last;
    }

    /** Returns the times counted with the last answer that Kafka has taken, or null if there is none. */
    public TimeWithoutProgress timeWithoutProgress() {
        return timeWithoutProgress;
    }

    /** Remembers an answer, now that Kafka has taken it. */
    public void remember(AppliedAnswer applied, TimeWithoutProgress counted) {
        lastApplied = applied;
        timeWithoutProgress = counted;
    }

    /** Forgets the last answer, whose date the service does not believe. */
    public void forget() {
        lastApplied = null;
    }
}
