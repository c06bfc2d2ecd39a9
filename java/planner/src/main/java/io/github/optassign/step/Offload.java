package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.policy.OffloadPolicy;
import java.util.Arrays;

/**
 * Temporary offload of clients with too many actives, on the way to the plan (docs/reference/rules.md, "Temporary
 * offload"; {@code optassign_models/offload.py} is the service's). Stateless tasks may go to any client; a logged task
 * changes roles with a caught-up standby. No copy is added or removed.
 */
public final class Offload {
    private Offload() {}

    /**
     * Moves actives off clients with too many, where an excess active costs more than its moves.
     *
     * @param answer the answer without offload, with its warm-ups; changed
     * @param toBalanceMs the expected time for which an excess active stays
     */
    public static void offload(
            Snapshot snapshot,
            Ranks ranks,
            Previous previous,
            Placement plan,
            Placement answer,
            long toBalanceMs,
            Timing.Prices prices) {
        boolean isOff = Math.min(prices.stateless(), prices.logged()) >= OffloadPolicy.OFF_S;
        // Where plans may exceed shares, numbers of tasks are no measure of load.
        if (isOff || snapshot.configs().looseBalance()) {
            return;
        }
        long[] high = Shares.ofActives(snapshot).high();
        long[] room = measureRoom(high, answer);
        if (isAnyBelowZero(measureRoom(high, plan)) || !isAnyBelowZero(room)) {
            return;
        }
        if (previous.isPlanBinding()) {
            closeWithoutPlan(plan, room);
        }
        boolean mayStay = prices.logged() < OffloadPolicy.OFF_S;
        OffloadOptions options = new OffloadOptions(snapshot, ranks, previous, plan, answer, prices, mayStay);
        long price = Math.min(toBalanceMs / 1_000, OffloadOptions.MOST_SECONDS - 1) * OffloadOptions.SECOND;
        int[] active = OffloadFlow.choose(options, answer.active(), room, price);
        for (int t = 0; t < active.length; t++) {
            if (active[t] != answer.active()[t]) {
                move(answer, t, active[t]);
            }
        }
    }

    /** Closes clients to which the service's plan gives no active task: the service may know that they leave. */
    private static void closeWithoutPlan(Placement plan, long[] room) {
        boolean[] isPlanned = new boolean[room.length];
        for (int c : plan.active()) {
            isPlanned[c] = true;
        }
        for (int c = 0; c < room.length; c++) {
            room[c] = isPlanned[c] ? room[c] : Math.min(0, room[c]);
        }
    }

    private static long[] measureRoom(long[] high, Placement placement) {
        long[] count = placement.countActives(high.length);
        long[] room = new long[high.length];
        Arrays.setAll(room, c -> high[c] - count[c]);
        return room;
    }

    private static boolean isAnyBelowZero(long[] numbers) {
        return Arrays.stream(numbers).anyMatch(number -> number < 0);
    }

    private static void move(Placement answer, int t, int to) {
        if (answer.hasStandby(t, to)) {
            answer.removeStandby(t, to);
            answer.addStandby(t, answer.active()[t]);
        }
        answer.active()[t] = to;
    }
}
