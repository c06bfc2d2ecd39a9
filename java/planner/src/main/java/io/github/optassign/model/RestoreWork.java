package io.github.optassign.model;

import io.github.optassign.policy.ProgramPolicy;
import java.util.Arrays;

/**
 * The restoring under a plan: its copies on clients that are not caught up, and the copies that R3 to R5 force in this
 * rebalance under any plan. A copy that is both counts once.
 *
 * @param offsets offsets to replay
 * @param cold how many copies have any to replay
 */
public record RestoreWork(long offsets, int cold) {
    /** Measures a plan. */
    public static RestoreWork of(Snapshot snapshot, Ranks ranks, Placement plan) {
        long offsets = 0;
        int cold = 0;
        int[] forced = new int[snapshot.standbysPerTask() + 1];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (!snapshot.isLogged(t)) {
                continue;
            }
            findForced(snapshot, ranks, plan, t, forced);
            for (int c : listCounting(plan, t, forced)) {
                if (ranks.rank(t, c) > 0) {
                    long cost = ranks.cost(t, c);
                    offsets = offsets > Long.MAX_VALUE - cost ? Long.MAX_VALUE : offsets + cost;
                    cold++;
                }
            }
        }
        return new RestoreWork(offsets, cold);
    }

    /** Returns the clients of the plan's copies, and the forced ones, each once. */
    private static int[] listCounting(Placement plan, int t, int[] forced) {
        int[] all = Arrays.copyOf(forced, forced.length + 1 + plan.standby()[t].length);
        int count = addNew(all, forced.length, plan.active()[t]);
        for (int c : plan.standby()[t]) {
            count = addNew(all, count, c);
        }
        return Arrays.copyOf(all, count);
    }

    /** Adds a client to the first ones of an array if it is not among them; returns how many they are then. */
    private static int addNew(int[] clients, int count, int c) {
        for (int i = 0; i < count; i++) {
            if (clients[i] == c) {
                return count;
            }
        }
        clients[count] = c;
        return count + 1;
    }

    /** Finds where R3 to R5 put copies: the clients that come before all others. */
    private static void findForced(Snapshot snapshot, Ranks ranks, Placement plan, int t, int[] forced) {
        int found = 0;
        int[] known = Snapshot.and(snapshot.columnsAnd(t, plan.active()[t]), plan.standby()[t]);
        for (int c : Snapshot.and(known, snapshot.firstOthers(known, forced.length))) {
            int place = found;
            while (place > 0 && comesBefore(ranks, plan, t, c, forced[place - 1])) {
                place--;
            }
            if (place < forced.length) {
                found = Math.min(found + 1, forced.length);
                System.arraycopy(forced, place, forced, place + 1, found - place - 1);
                forced[place] = c;
            }
        }
    }

    /** Compares clients by rank; of one rank the plan's clients come first, then those with less to replay. */
    private static boolean comesBefore(Ranks ranks, Placement plan, int t, int a, int b) {
        int order = Long.compare(ranks.rank(t, a), ranks.rank(t, b));
        order = order != 0 ? order : Boolean.compare(!plan.hasCopy(t, a), !plan.hasCopy(t, b));
        order = order != 0 ? order : Long.compare(ranks.cost(t, a), ranks.cost(t, b));
        return order != 0 ? order < 0 : a < b;
    }

    /**
     * Returns whether another is less by so much that a plan is left for it (R11): by more than 2% of the offsets, and
     * more than a fifth of the mean changelog for each pause that it has beyond those of this one; or by more than 2%
     * of the copies not caught up, and more than one for five such migrations.
     *
     * @param moreMigrations how many more tasks pause on the way to the other plan; at least 0
     * @param changelog offsets of the mean changelog
     */
    public boolean isWorthLeavingFor(RestoreWork other, int moreMigrations, double changelog) {
        return isWorth(offsets, other.offsets, moreMigrations * changelog) || isWorth(cold, other.cold, moreMigrations);
    }

    private static boolean isWorth(long mine, long theirs, double migrations) {
        long saved = mine - theirs;
        return saved > theirs / ProgramPolicy.KEPT_PLAN_PARTS
                && (double) ProgramPolicy.MIGRATIONS_PER_CHANGELOG * saved > migrations;
    }
}
