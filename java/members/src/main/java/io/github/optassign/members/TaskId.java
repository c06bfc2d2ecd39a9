package io.github.optassign.members;

import java.util.Comparator;

/** A task as the protocol names it. */
record TaskId(String subtopology, int partition) implements Comparable<TaskId> {
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
