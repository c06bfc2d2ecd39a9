package io.github.optassign;

import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;

/** The event that a follow-up waits for, as the log names it (docs/reference/logs.md). */
enum FollowupReason {
    /** Copies that restore, by the rates of their clients. */
    COPIES_BY_RATE,
    /** The first measurement of copies whose clients have no known restore rate. */
    COPIES_FIRST_LOOK,
    /** Copies that restore, after the probing interval. */
    COPIES_BY_INTERVAL,
    /** Copies without progress over several follow-ups; the next follow-up is delayed. */
    NO_PROGRESS,
    /** Tasks in transit to another client. */
    MOVES,
    /** Lags that the broker has not reported. */
    UNKNOWN_LAGS,
    /** Input rates that have not been measured for long enough. */
    INPUT_RATES,
    /** A service that gave no answer. */
    SERVICE,
    /** An operator: the group is at rest, and the follow-up lets requests take effect or quiet hours end. */
    OPERATOR;

    /**
     * Finds the reason for the first follow-up of an answer.
     *
     * @param answer the answer as its assignor gave it
     * @param checked the same answer, checked, before its follow-up is delayed
     * @param isByInterval whether follow-ups are due after the probing interval only
     * @return {@link #OPERATOR} if the group waits for nothing
     */
    static FollowupReason find(Snapshot snapshot, Answer answer, CheckedAnswer checked, boolean isByInterval) {
        Placement placement = checked.placement();
        if (!answer.progress().isEmpty() || Arrays.stream(placement.warmup()).anyMatch(clients -> clients.length > 0)) {
            Pace pace = answer.pace();
            if (isByInterval || pace == null) {
                return COPIES_BY_INTERVAL;
            }
            return answer.progress().stream().anyMatch(copy -> isRateKnown(pace, copy.processId()))
                    ? COPIES_BY_RATE
                    : COPIES_FIRST_LOOK;
        }
        if (answer.plan() != null) {
            return MOVES;
        }
        return snapshot.hasUnknownLag() ? UNKNOWN_LAGS : OPERATOR;
    }

    private static boolean isRateKnown(Pace pace, String processId) {
        Pace.Restored restored = pace.clients().get(processId);
        return restored != null && restored.offsets() > 0 && restored.ms() > 0;
    }
}
