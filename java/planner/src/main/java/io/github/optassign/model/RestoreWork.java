package io.github.optassign.model;

import io.github.optassign.policy.ProgramPolicy;
import java.util.Arrays;

/**
 * The restore work of a plan. It counts the copies on clients that are not caught up: planned copies, and copies that
 * R3 to R5 force in this rebalance under any plan. A copy that is both counts once.
 *
 * @param offsets the sum of their offsets to replay
 * @param notCaughtUp the number of these copies
 */
public record RestoreWork(long offsets, int notCaughtUp) {
    /** Returns the restore work of a plan. */
    public static RestoreWork of(Snapshot snapshot, Placement plan) {
        Ranks ranks = snapshot.ranks();
        long offsets = 0;
        int notCaughtUp = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (!snapshot.isLogged(t)) {
                continue;
            }
            int[] planned = Snapshot.union(plan.standby()[t], plan.active()[t]);
            for (int c : Snapshot.union(planned, listForced(snapshot, plan, t))) {
                if (ranks.rank(t, c) > 0) {
                    offsets = addCapped(offsets, ranks.cost(t, c));
                    notCaughtUp++;
                }
            }
        }
        return new RestoreWork(offsets, notCaughtUp);
    }

    /** Returns the sum of two numbers of at least 0, or the greatest long if the sum is greater. */
    public static long addCapped(long sum, long more) {
        return sum > Long.MAX_VALUE - more ? Long.MAX_VALUE : sum + more;
    }

    /** Returns the clients to which R3 to R5 give copies: by rank; ties are broken by plan, then by restore cost. */
    private static int[] listForced(Snapshot snapshot, Placement plan, int t) {
        int copies = snapshot.standbysPerTask() + 1;
        int[] known = Snapshot.union(snapshot.columnsAnd(t, plan.active()[t]), plan.standby()[t]);
        int[] open = Snapshot.union(known, snapshot.firstOthers(known, copies));
        int[] forced = {};
        while (forced.length < copies) {
            int best = -1;
            for (int c : open) {
                boolean isOpen = Arrays.binarySearch(forced, c) < 0;
                best = isOpen && (best < 0 || isForcedBefore(snapshot.ranks(), plan, t, c, best)) ? c : best;
            }
            forced = Snapshot.union(forced, best);
        }
        return forced;
    }

    private static boolean isForcedBefore(Ranks ranks, Placement plan, int t, int c, int other) {
        if (ranks.rank(t, c) != ranks.rank(t, other)) {
            return ranks.rank(t, c) < ranks.rank(t, other);
        }
        boolean isPlanned = plan.hasCopy(t, c);
        return isPlanned != plan.hasCopy(t, other) ? isPlanned : ranks.cost(t, c) < ranks.cost(t, other);
    }

    /**
     * Returns whether a plan with this work should be replaced by a plan with the other work (R11). The other plan must
     * save more than 2% of the offsets, and more than a fifth of the mean changelog for each additional migration. Or
     * it must save more than 2% of the copies not caught up, and more than one for five additional migrations.
     *
     * @param moreMigrations the number of additional migrations of actives on the way to the other plan; at least 0
     * @param changelog the mean number of offsets in a changelog
     */
    public boolean isWorthReplacingBy(RestoreWork other, int moreMigrations, double changelog) {
        return isWorth(offsets, other.offsets, moreMigrations * changelog)
                || isWorth(notCaughtUp, other.notCaughtUp, moreMigrations);
    }

    private static boolean isWorth(long mine, long theirs, double migrations) {
        long saved = mine - theirs;
        return saved > theirs / ProgramPolicy.KEPT_PLAN_PARTS
                && (double) ProgramPolicy.MIGRATIONS_PER_CHANGELOG * saved > migrations;
    }
}
