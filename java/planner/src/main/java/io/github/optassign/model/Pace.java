package io.github.optassign.model;

import java.util.Map;

/**
 * Restore rates learned from the times between answers, as an answer's report has them ({@code report.pace}): so the
 * service continues with the planner's rates, and the planner with the service's.
 *
 * @param takenAtMs when the snapshot was taken that this is from, milliseconds since 1970
 * @param clients process id to how fast that client restores
 * @param looks answers in a row at which no copy had come nearer
 * @param countedAtMs when answers without progress were counted last, milliseconds since 1970; -1: never
 */
public record Pace(long takenAtMs, Map<String, Restored> clients, int looks, long countedAtMs) {
    /** A client's restored offsets and the milliseconds that these took; old offsets count less. */
    public record Restored(long offsets, long ms, Evidence evidence) {}

    /** Returns whether any client's rate has been measured. */
    public boolean isMeasured() {
        return clients.values().stream().anyMatch(client -> client.ms() > 0 && client.offsets() > 0);
    }
}
