package io.github.optassign.learn;

import java.util.concurrent.TimeUnit;

/** Reaches into what a JVM remembers, for tests. */
public final class Memories {
    private Memories() {}

    public static void clearAll() {
        Memory.clearAll();
    }

    /** Dates the last answer of an application otherwise. */
    public static void redate(String application, long answeredAt) {
        Memory memory = Memory.of(application);
        AppliedAnswer last = memory.lastApplied();
        AppliedAnswer redated = new AppliedAnswer(
                last.json(), answeredAt, last.answer(), last.sizes(), last.owners(), last.decidedNanos());
        memory.remember(redated, memory.timeWithoutProgress());
    }

    /** Lets so many milliseconds without progress pass; at rest none is counted. */
    public static void letPass(String application, long ms) {
        Memory memory = Memory.of(application);
        TimeWithoutProgress timeWithoutProgress = memory.timeWithoutProgress();
        if (timeWithoutProgress == null) {
            return;
        }
        long since = timeWithoutProgress.sinceNanos() - TimeUnit.MILLISECONDS.toNanos(ms);
        TimeWithoutProgress older = new TimeWithoutProgress(
                timeWithoutProgress.group(), timeWithoutProgress.tasks(), timeWithoutProgress.left(), since);
        memory.remember(memory.lastApplied(), older);
    }

    /** Lets time pass for the pause after wrong or late answers. */
    public static void letPauseGoOn(String application, long ms) {
        Memory.of(application).breaker().advance(ms);
    }

    public static int countProgress(String application) {
        return Memory.of(application).lastApplied().answer().progress().size();
    }
}
