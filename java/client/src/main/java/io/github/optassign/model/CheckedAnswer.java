package io.github.optassign.model;

import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.WaitPolicy;
import java.util.Arrays;

/**
 * An answer that may be passed to Kafka.
 *
 * @param placement the clients of each task's copies
 * @param followupMs per client the delay of the follow-up that it asks for, ms, or -1 if it asks for none
 */
public record CheckedAnswer(Placement placement, long[] followupMs) {
    /**
     * The longest delay of a follow-up after others brought nothing: six hours. A group whose copies never catch up
     * rests, and a group with repaired disks is still found the same day.
     */
    private static final long LONGEST_BACKOFF_MS = 21_600_000;
    /**
     * The time without progress divided by the wait for the next follow-up. The number of follow-ups without progress
     * then grows with the logarithm of the time.
     */
    private static final int BACKOFF_PARTS = 3;

    /** Returns an answer whose follow-up the client of R8 asks for; no client asks if {@code delayMs} is below 0. */
    public static CheckedAnswer of(Snapshot snapshot, Placement placement, long delayMs) {
        long[] followupMs = new long[snapshot.clientCount()];
        Arrays.fill(followupMs, -1);
        followupMs[snapshot.followupClient()] = delayMs;
        return new CheckedAnswer(placement, followupMs);
    }

    /** Returns the allowed delay, ms, that is nearest to the delay that a service asks for. */
    public static long clampOfService(long delayMs) {
        return Math.max(WaitPolicy.LEAST_AFTER_PASS_MS, Math.min(delayMs, FollowupPolicy.LONGEST_MS));
    }

    /**
     * Returns this answer with each follow-up delayed to at least a third of the time without progress, up to
     * {@link #LONGEST_BACKOFF_MS}. Adds no follow-up. So follow-ups at a fixed interval are delayed only after three
     * without progress.
     *
     * @param withoutProgressMs the time without progress, ms
     */
    public CheckedAnswer backOff(long withoutProgressMs) {
        long leastMs = Math.min(withoutProgressMs / BACKOFF_PARTS, LONGEST_BACKOFF_MS);
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
