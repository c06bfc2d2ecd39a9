package io.github.optassign;

import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.WaitPolicy;
import java.time.Instant;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The instants at which clients ask for the next rebalance (R8).
 *
 * <p>A member that does not ask joins at its next heartbeat, by default up to three seconds later, and the rebalance
 * waits for it. So every client asks for a follow-up that is due within {@link WaitPolicy#ASKED_BY_ALL_MS}. Kafka has
 * one thread of a client ask; other threads still wait for their heartbeats.
 */
final class FollowupDeadlines {
    /** An instant in the past by every clock; Kafka uses it for its second pass (KIP-429). */
    private static final Instant AT_ONCE = Instant.EPOCH;

    private FollowupDeadlines() {}

    /**
     * Returns the deadlines of an answer.
     *
     * @param isEarly whether this rebalance came earlier than the last answer asked for, without a known reason. The
     *     clock of a client may be ahead, so not all clients should ask
     * @param now the instant from which the answer's delays count
     * @return per client the instant at which it asks, or null if it does not
     */
    static Instant[] choose(Snapshot snapshot, CheckedAnswer answer, boolean isEarly, Instant now) {
        long first = answer.firstFollowupMs();
        if (isAnyMoved(snapshot, answer.placement().active())) {
            // Tasks that move are down until the second pass (KIP-429), which asks for the answer's follow-up again.
            return repeat(AT_ONCE, snapshot.clientCount());
        }
        return first >= 0 && first <= WaitPolicy.ASKED_BY_ALL_MS && !isEarly
                ? repeat(now.plusMillis(first), snapshot.clientCount())
                : keep(answer, now);
    }

    /** Returns per client the instant of its follow-up in the answer, or null if it does not ask. */
    static Instant[] keep(CheckedAnswer answer, Instant now) {
        return Arrays.stream(answer.followupMs())
                .mapToObj(delay -> delay < 0 ? null : now.plusMillis(delay))
                .toArray(Instant[]::new);
    }

    private static Instant[] repeat(Instant deadline, int clients) {
        Instant[] deadlines = new Instant[clients];
        Arrays.fill(deadlines, deadline);
        return deadlines;
    }

    private static boolean isAnyMoved(Snapshot snapshot, int[] active) {
        return IntStream.range(0, snapshot.taskCount()).anyMatch(t -> snapshot.isMove(t, active[t]));
    }
}
