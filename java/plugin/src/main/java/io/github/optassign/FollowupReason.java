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
    /** The first measurement of copies while no rate of their clients is known. */
    COPIES_FIRST_LOOK,
    /** Copies that restore, after the probing interval. */
    COPIES_BY_INTERVAL,
    /** Copies that made no progress over several follow-ups, so that the next one is put off. */
    NO_PROGRESS,
    /** Tasks on their way to another client. */
    MOVES,
    /** Lags that the broker has not told. */
    UNKNOWN_LAGS,
    /** Rates of the input that do not count yet. */
    INPUT_RATES,
    /** A service that had no answer. */
    SERVICE,
    /** Nothing in the group: an operator's requests take effect then, or quiet hours end. */
    OPERATOR;

    /**
     * Finds the reason for the first follow-up of an answer.
     *
     * @param told the answer as its author told it
     * @param checked the same, before its follow-up was put off
     * @param isByInterval whether follow-ups come after the probing interval only
     */
    static FollowupReason find(Snapshot snapshot, Answer told, CheckedAnswer checked, boolean isByInterval) {
        Placement placement = checked.placement();
        if (!told.progress().isEmpty() || Arrays.stream(placement.warmup()).anyMatch(clients -> clients.length > 0)) {
            Pace pace = told.pace();
            if (isByInterval || pace == null) {
                return COPIES_BY_INTERVAL;
            }
            return told.progress().stream().anyMatch(copy -> isRateKnown(pace, copy.processId()))
                    ? COPIES_BY_RATE
                    : COPIES_FIRST_LOOK;
        }
        if (told.plan() != null) {
            return MOVES;
        }
        return snapshot.hasUnknownLag() ? UNKNOWN_LAGS : OPERATOR;
    }

    private static boolean isRateKnown(Pace pace, String processId) {
        Pace.Restored restored = pace.clients().get(processId);
        return restored != null && restored.offsets() > 0 && restored.ms() > 0;
    }
}
