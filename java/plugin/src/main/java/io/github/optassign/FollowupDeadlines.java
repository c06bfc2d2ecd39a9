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
 * waits for it. So every client asks if a heartbeat matters. Kafka has one thread of a client ask; other threads still
 * wait for their heartbeats.
 */
final class FollowupDeadlines {
    /** Past by each clock, and Kafka's own value for a second pass. */
    private static final Instant AT_ONCE = Instant.EPOCH;

    private FollowupDeadlines() {}

    /**
     * Chooses the deadlines.
     *
     * @param isEarly whether this rebalance came before the last answer asked for one, for no known reason: perhaps the
     *     clock of a client is ahead, and would bring every follow-up too early
     * @param now the instant from which the answer's delays count
     * @return per client an instant, or null if it does not ask
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

    /** Returns the instants of the clients that ask in the answer, as {@link #choose} does. */
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
