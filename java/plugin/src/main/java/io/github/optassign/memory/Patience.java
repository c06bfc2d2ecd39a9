package io.github.optassign.memory;

import io.github.optassign.measuring.Distance;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.HashMap;
import java.util.Map;

/**
 * Counts the answers in a row that asked for a follow-up and brought the group no nearer to its plan. A plan that
 * changes in the same group is no progress: else two plans in turn could keep a group rebalancing for ever.
 *
 * @param group process id to size of the client, as in {@link AppliedAnswer#sizes}
 * @param plan of the answer
 * @param distance how far the group was from it when it was given
 * @param withoutProgress how many answers before this one brought nothing
 */
public record Patience(Map<String, Long> group, Placement plan, Distance distance, int withoutProgress) {
    /**
     * Goes on counting with an answer.
     *
     * @param before of the last applied answer; null: there is none
     * @param plan of this answer
     */
    public static Patience after(Patience before, Snapshot snapshot, Placement plan) {
        Map<String, Long> group = new HashMap<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            group.put(snapshot.clientName(c), AppliedAnswer.signedSize(snapshot, c));
        }
        Distance distance = Distance.of(snapshot, plan);
        boolean isSameGroup =
                before != null && before.group.equals(group) && before.plan.active().length == plan.active().length;
        boolean isNearer = isSameGroup && before.plan.hasSameCopies(plan) && distance.isLess(before.distance);
        int withoutProgress = isSameGroup && !isNearer ? before.withoutProgress + 1 : 0;
        return new Patience(group, plan, distance, withoutProgress);
    }
}
