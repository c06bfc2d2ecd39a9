package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.WaitPolicy;
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

    /** Returns the delay that a service asks for, ms, or the nearest one that is allowed. */
    public static long clampOfService(long delayMs) {
        return Math.max(WaitPolicy.LEAST_AFTER_PASS_MS, Math.min(delayMs, FollowupPolicy.LONGEST_MS));
    }

    /**
     * Returns this answer with each follow-up delayed to at least a third of the time without progress, up to
     * {@link WaitPolicy#LONGEST_BACKOFF_MS}. It adds no follow-up. So follow-ups at a fixed interval are delayed only
     * once three of them have brought nothing.
     *
     * @param withoutProgressMs the time without progress by follow-ups
     */
    public CheckedAnswer backOff(long withoutProgressMs) {
        long leastMs = Math.min(withoutProgressMs / WaitPolicy.BACKOFF_PARTS, WaitPolicy.LONGEST_BACKOFF_MS);
        long[] putOff = Arrays.stream(followupMs)
                .map(delay -> delay < 0 ? delay : Math.max(delay, leastMs))
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
