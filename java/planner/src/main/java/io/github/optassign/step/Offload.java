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
 * Has tasks be active elsewhere for a while, on the way to the plan, where load is missing (docs/reference/rules.md,
 * "Temporary offload"). It changes who is active, never who has a copy: stateless tasks may go anywhere, logged ones to
 * a caught-up standby, with which they change roles.
 */
public final class Offload {
    private Offload() {}

    /**
     * Offloads clients that have too many active tasks, where a task too many costs more than the moves.
     *
     * @param answer as it would be without offload, with its warm-ups; changed
     * @param toBalanceMs so long a task too many is likely to stay
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
        // If plans may be out of their shares, numbers of tasks say nothing of load.
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

    /** A client to which the service's plan gives no active task has no room: it may know that the client leaves. */
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
        long[] room = high.clone();
        for (int c : placement.active()) {
            room[c]--;
        }
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
