package io.github.optassign.model;

import java.util.Map;

/**
 * What the times between answers have taught, as an answer's report has it ({@code report.pace}): so the service goes
 * on with what the planner has learnt, and the other way round.
 *
 * @param takenAtMs when the snapshot was taken that this is from, milliseconds since 1970
 * @param clients process id to how fast that client restores
 * @param looks answers in a row at which no copy had come nearer
 * @param countedAtMs when answers without progress were counted last, milliseconds since 1970; -1: never
 */
public record Pace(long takenAtMs, Map<String, Restored> clients, int looks, long countedAtMs) {
    /**
     * What a client has restored; what is long ago counts less.
     *
     * @param ms in so many milliseconds
     * @param isLeast whether all was done whenever anybody looked, so that it is a guess from a lower bound
     */
    public record Restored(long offsets, long ms, boolean isLeast) {}
}
