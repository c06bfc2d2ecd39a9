package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** The reason for a rebalance. Kafka names none, so it is derived from the changes since the last rebalance. */
final class Trigger {
    /** Another reason: an instance has restarted, partitions are new, or a follow-up came early. */
    static final String OTHER = "other";

    private Trigger() {}

    /**
     * Describes the reason in one word.
     *
     * @param last the last answer that this JVM knows to be applied, or null if there is none
     * @param now as of System.nanoTime
     * @return {@code joined:N}, {@code left:N} or both; {@code second_pass} if a task has no owner, as in transit
     *     (KIP-429); {@code followup}; {@code first_led} if this JVM did not lead the rebalance before; {@link #OTHER}
     */
    static String describe(Snapshot snapshot, AppliedAnswer last, long now) {
        if (last == null || last.isSuperseded(snapshot)) {
            return "first_led";
        }
        int joined = 0;
        for (String name : snapshot.clientNames()) {
            joined += last.profiles().containsKey(name) ? 0 : 1;
        }
        int left = last.profiles().size() + joined - snapshot.clientCount();
        if (joined > 0 || left > 0) {
            return (joined > 0 ? "joined:" + joined : "")
                    + (joined > 0 && left > 0 ? "," : "")
                    + (left > 0 ? "left:" + left : "");
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.owners(t).length == 0) {
                return "second_pass";
            }
        }
        long elapsedMs = TimeUnit.NANOSECONDS.toMillis(now - last.decidedNanos());
        return last.answer().clients().stream()
                        .map(Answer.Client::followupMs)
                        .filter(Objects::nonNull)
                        .anyMatch(asked -> elapsedMs + MeasuringPolicy.EARLY_MS >= asked)
                ? "followup"
                : OTHER;
    }
}
