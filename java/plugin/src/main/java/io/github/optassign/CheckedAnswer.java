package io.github.optassign;

/**
 * An answer that may be handed to Kafka.
 *
 * @param placement who has which copy
 * @param followupMs per client the delay of the follow-up it asks for, ms; -1: none
 */
record CheckedAnswer(Placement placement, long[] followupMs) {
    /** The least delay any client asks for; -1: none does. */
    long firstFollowupMs() {
        long first = -1;
        for (long delay : followupMs) {
            if (delay >= 0 && (first < 0 || delay < first)) {
                first = delay;
            }
        }
        return first;
    }
}
