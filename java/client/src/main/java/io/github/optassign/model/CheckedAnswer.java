package io.github.optassign.model;

import java.util.Arrays;

/**
 * An answer that may be handed to Kafka.
 *
 * @param placement which client has which copy
 * @param followupMs per client the delay of the follow-up it asks for, ms, or -1 if there is none
 */
public record CheckedAnswer(Placement placement, long[] followupMs) {
    /** Has the client of R8 ask for a follow-up after a delay, ms; less than 0: no client asks. */
    public static CheckedAnswer of(Snapshot snapshot, Placement placement, long delayMs) {
        long[] followupMs = new long[snapshot.clientCount()];
        Arrays.fill(followupMs, -1);
        followupMs[snapshot.followupClient()] = delayMs;
        return new CheckedAnswer(placement, followupMs);
    }

    /**
     * Returns the same, with follow-ups put off where those before them brought nothing
     * ({@link FollowupLimits#backOff}).
     */
    public CheckedAnswer backOff(long withoutProgressMs) {
        long[] putOff = Arrays.stream(followupMs)
                .map(delay -> FollowupLimits.backOff(delay, withoutProgressMs))
                .toArray();
        return new CheckedAnswer(placement, putOff);
    }

    /** Returns the least delay that any client asks for, ms, or -1 if no client asks. */
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
