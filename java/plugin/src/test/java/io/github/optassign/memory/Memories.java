package io.github.optassign.memory;

/** Lets tests of other packages forget what they have remembered. */
public final class Memories {
    private Memories() {}

    /** Forgets everything, as a restart of the JVM would. */
    public static void clearAll() {
        Memory.clearAll();
    }
}
