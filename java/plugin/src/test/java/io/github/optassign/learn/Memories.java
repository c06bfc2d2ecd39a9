package io.github.optassign.learn;

import java.util.concurrent.TimeUnit;

/** Access to the memory of this JVM for tests. */
public final class Memories {
    private Memories() {}

    public static void clearAll() {
        Memory.clearAll();
    }

    /** Changes the date of the last answer of an application. */
    public static void redate(String application, long answeredAt) {
        Memory memory = Memory.of(application);
        AppliedAnswer last = memory.lastApplied();
        AppliedAnswer redated = new AppliedAnswer(
                last.json(),
                answeredAt,
                last.answer(),
                last.profiles(),
                last.owners(),
                last.decidedNanos(),
                last.isPlanByService());
        memory.remember(redated, memory.timeWithoutProgress());
    }

    /** Advances the time without progress of an application. At rest it is not counted. */
    public static void advanceWithoutProgress(String application, long ms) {
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

    /** Advances the pause after wrong or late answers. */
    public static void advancePause(String application, long ms) {
        Memory.of(application).breaker().advance(ms);
    }

    public static int countProgress(String application) {
        return Memory.of(application).lastApplied().answer().progress().size();
    }
}
