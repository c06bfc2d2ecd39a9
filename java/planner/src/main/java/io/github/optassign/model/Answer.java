package io.github.optassign.model;

import java.util.List;

/**
 * An answer by the ids of tasks and clients, as the JSON of a TaskAssignment has it. It may be for other tasks or
 * clients than those of the snapshot at hand.
 *
 * @param assignor which assignor of the service decided, or {@link #FALLBACK} or {@link #PLANNER}, or the assignor that
 *     runs the group in shadow mode
 * @param clients the copies of each client
 * @param plan the clients of all copies in the end, without warm-ups; null: this answer is the plan
 * @param progress the warm-ups and restoring copies that the answer waits for (R11)
 * @param pace the restore rates learned from the times between answers, or null if unknown
 * @param detail why solving ended as it did, where that is worth a word; empty: it is not
 */
public record Answer(
        String assignor, List<Client> clients, List<Client> plan, List<Progress> progress, Pace pace, String detail) {
    /** An answer without further details. */
    public Answer(String assignor, List<Client> clients, List<Client> plan, List<Progress> progress) {
        this(assignor, clients, plan, progress, null, "");
    }

    /** The name of the assignor if the planner answered in place of another. */
    public static final String FALLBACK = "fallback";

    /** The name of the assignor if the planner had to answer. */
    public static final String PLANNER = "planner";

    /** Returns whether the planner decided. */
    public boolean isByPlanner() {
        return FALLBACK.equals(assignor) || PLANNER.equals(assignor);
    }

    /** One client's tasks, and the delay, ms, of the follow-up that it asks for, or null if there is none. */
    public record Client(
            String processId, List<String> active, List<String> standby, List<String> warmup, Long followupMs) {}

    /**
     * A copy that is being restored, and how long it has made no progress.
     *
     * @param lag offsets left to replay when last seen, or -1 if not known
     * @param answersWithoutProgress the number of answers over which the lag has not fallen
     * @param underWayMs for how long it had been assigned at that answer
     */
    public record Progress(String task, String processId, long lag, int answersWithoutProgress, long underWayMs) {}
}
