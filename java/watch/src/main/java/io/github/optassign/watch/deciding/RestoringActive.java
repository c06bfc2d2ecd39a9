package io.github.optassign.watch.deciding;

/**
 * An active task with a changelog as its member last told of it.
 *
 * @param member the id of the thread that has it
 * @param offset told by this thread; -1: nothing, as of each task that it runs
 * @param lag offsets left to replay, by the greatest known end of the changelog; -1: not known
 */
public record RestoringActive(String member, long offset, long lag) {}
