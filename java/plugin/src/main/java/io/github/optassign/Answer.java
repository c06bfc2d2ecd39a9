package io.github.optassign;

import java.util.List;

/**
 * A TaskAssignment as read from JSON, by names, not yet checked against a snapshot.
 *
 * @param assignor which assignor of the service decided, or "fallback"
 * @param clients what each client gets
 * @param plan where all copies shall be in the end (no warm-ups); null: this answer is it
 * @param progress warm-ups and restoring copies that the answer waits for (R11)
 */
record Answer(String assignor, List<Client> clients, List<Client> plan, List<Progress> progress) {
    /** The name of the assignor where the plug-in answered by itself. */
    static final String FALLBACK = "fallback";

    /**
     * One client's part.
     *
     * @param followupMs delay of the follow-up rebalance, ms; null: none
     */
    record Client(String processId, List<String> active, List<String> standby, List<String> warmup, Long followupMs) {}

    /**
     * A copy on its way.
     *
     * @param lag offsets left to replay when last seen; -1: not known
     * @param answersWithoutProgress for how many answers it has not fallen
     */
    record Progress(String task, String processId, long lag, int answersWithoutProgress) {}
}
