package io.github.optassign.watch.deciding;

import java.util.Comparator;

/** The id of a task, as in the streams protocol (KIP-1071). */
public record TaskId(String subtopology, int partition) implements Comparable<TaskId> {
    private static final Comparator<TaskId> ORDER =
            Comparator.comparing(TaskId::subtopology).thenComparingInt(TaskId::partition);

    @Override
    public int compareTo(TaskId other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return subtopology + "_" + partition;
    }
}
