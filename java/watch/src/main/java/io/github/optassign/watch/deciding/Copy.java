package io.github.optassign.watch.deciding;

import java.util.Comparator;

/** A copy of a task in a process. */
public record Copy(TaskId task, String process) implements Comparable<Copy> {
    private static final Comparator<Copy> ORDER =
            Comparator.comparing(Copy::task).thenComparing(Copy::process);

    @Override
    public int compareTo(Copy other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return task + " on " + process;
    }
}
