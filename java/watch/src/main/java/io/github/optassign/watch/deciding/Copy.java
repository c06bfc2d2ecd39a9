package io.github.optassign.watch.deciding;

/** A copy of a task in a process. */
public record Copy(TaskId task, String process) {}
