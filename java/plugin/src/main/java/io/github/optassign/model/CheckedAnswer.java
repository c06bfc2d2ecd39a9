package io.github.optassign.model;

/**
 * An answer that may be handed to Kafka.
 *
 * @param placement which client has which copy
 * @param followupMs per client the delay of the follow-up it asks for, ms; -1: none
 */
public record CheckedAnswer(Placement placement, long[] followupMs) {
    /** The least delay that any client asks for, ms; -1: none does. */
    public long firstFollowupMs() {
        long first = -1;
        for (long delay : followupMs) {
            if (delay >= 0 && (first < 0 || delay < first)) {
                first = delay;
            }
        }
        return first;
    }
}
