package io.github.optassign.watch.deciding;

/**
 * A member's last report on an active task with a changelog.
 *
 * @param member the id of the thread that has the task
 * @param offset the reported offset; -1 if none, as for tasks that run
 * @param lag the offsets left to replay, by the greatest known end offset; -1 if unknown
 */
public record RestoringActive(String member, long offset, long lag) {}
