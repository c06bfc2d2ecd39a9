package io.github.optassign.model;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * An answer by the ids of tasks and clients, as in the JSON of a TaskAssignment. Its tasks and clients may differ from
 * those of the snapshot at hand.
 *
 * @param assignor the assignor that decided: one of the service, {@link #FALLBACK}, {@link #PLANNER}, or the assignor
 *     that runs the group in shadow mode
 * @param clients the copies of each client from this rebalance on
 * @param plan the final copies of each client, without warm-ups, or null if {@code clients} is the plan
 * @param progress the copies whose lags the next answer compares (R11)
 * @param pace the measured restore rates, or null if unknown
 * @param detail the reason why solving ended as it did, or empty if there is nothing to report
 */
public record Answer(
        String assignor, List<Client> clients, List<Client> plan, List<Progress> progress, Pace pace, String detail) {
    /** Creates an answer without restore rates and detail. */
    public Answer(String assignor, List<Client> clients, List<Client> plan, List<Progress> progress) {
        this(assignor, clients, plan, progress, null, "");
    }

    /** The assignor's name if the planner answered in place of the assignor that should have. */
    public static final String FALLBACK = "fallback";

    /** The assignor's name if the planner is the assignor in use. */
    public static final String PLANNER = "planner";

    /** Returns whether the planner decided, by choice or as the fallback. */
    public boolean isByPlanner() {
        return FALLBACK.equals(assignor) || PLANNER.equals(assignor);
    }

    /** Returns whether both answers lead to the same final copies, with the same roles. */
    public boolean hasPlanOf(Answer other) {
        return listFinalCopies().equals(other.listFinalCopies());
    }

    private Map<String, List<Set<String>>> listFinalCopies() {
        return (plan == null ? clients : plan)
                .stream()
                        .filter(client -> !client.active.isEmpty() || !client.standby.isEmpty())
                        .collect(Collectors.toMap(
                                Client::processId,
                                client -> List.of(Set.copyOf(client.active), Set.copyOf(client.standby))));
    }

    /** A client's tasks, and the delay, ms, of the follow-up that it asks for, or null if it asks for none. */
    public record Client(
            String processId, List<String> active, List<String> standby, List<String> warmup, Long followupMs) {}

    /**
     * The progress of a copy that is to be restored.
     *
     * @param lag the offsets left to replay at this answer, or -1 if unknown
     * @param answersWithoutProgress the number of counted answers over which the lag has not fallen
     * @param underWayMs how long the copy had been assigned at this answer
     */
    public record Progress(String task, String processId, long lag, int answersWithoutProgress, long underWayMs) {}
}
