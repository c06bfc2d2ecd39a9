package io.github.optassign.model;

import java.util.Map;

/**
 * The measured restore rates and counters that one answer passes on to the next ({@code report.pace}). The service
 * continues with the planner's rates, and the planner with the service's.
 *
 * @param takenAtMs the time of the answer's snapshot, milliseconds since 1970
 * @param clients by process id, the client's restore rate
 * @param looks the number of answers in a row that found no fall of any awaited lag
 * @param countedAtMs the time of the last answer that R11 counted, milliseconds since 1970, or -1 if none was
 */
public record Pace(long takenAtMs, Map<String, Restored> clients, int looks, long countedAtMs) {
    /** A client's restore rate: restored offsets and the milliseconds that these took, by agreeing measurements. */
    public record Restored(long offsets, long ms, Evidence evidence) {}

    /** Returns whether any client's rate has been measured. */
    public boolean isMeasured() {
        return clients.values().stream().anyMatch(client -> client.ms() > 0 && client.offsets() > 0);
    }
}
