package io.github.optassign.plan;

import java.util.Arrays;

/**
 * A local search by trades of copies between clients, each of which lowers an objective: a sum of costs of clients.
 *
 * <p>In a two-way trade, two copies on different clients take each other's places. A copy may be a dummy for a vacant
 * place; a trade with it moves the other copy. If a seeker has no two-way trade that gains enough, three-way trades are
 * tried, in which each copy takes the place of the next copy.
 */
final class Trades {
    /** The state of a search, with the costs that trades lower. The implementation numbers the copies. */
    interface Objective {
        /** Returns the copies that look for a trade in the next round, in the order of their turns. */
        int[] listSeekers();

        /** Returns copies to trade with, the most promising first; copies on the seeker's client are skipped. */
        int[] listPartners(int seeker);

        /** Returns the client of a copy. */
        int client(int copy);

        /** Returns the rise in cost of {@code place}'s client if {@code copy} replaces it; infinite if not allowed. */
        double measureRise(int copy, int place);

        /** Returns the reduction of the objective that a trade of a seeker has to exceed. */
        double leastGain(int seeker);

        /** Removes a copy from its client; {@link #put} follows when all copies of the trade are removed. */
        void take(int copy);

        /** Adds a copy that was removed from its client to another client. */
        void put(int copy, int to);

        /** Returns how many partners of a seeker, from the first, are tried in three-way trades; 0 by default. */
        default int threeWayPartners() {
            return 0;
        }

        /** Changes the state or the allowed trades after a round without trades. Returns false to end the search. */
        default boolean escape() {
            return false;
        }
    }

    private final Objective objective;

    private Trades(Objective objective) {
        this.objective = objective;
    }

    /** Changes the objective's state by trades until no trade gains enough, for at most {@code rounds} rounds. */
    static void search(Objective objective, int rounds) {
        Trades trades = new Trades(objective);
        boolean isGaining = true;
        for (int round = 0; round < rounds && isGaining; round++) {
            isGaining = false;
            for (int seeker : objective.listSeekers()) {
                isGaining |= trades.trade(seeker);
            }
            isGaining = isGaining || objective.escape();
        }
    }

    /** Makes the best trade of a seeker. Returns false if no trade gains enough. */
    private boolean trade(int seeker) {
        int[] partners = objective.listPartners(seeker);
        int[] best = findPair(seeker, partners);
        if (best == null) {
            best = findThree(seeker, partners, Math.min(partners.length, objective.threeWayPartners()));
        }
        if (best == null) {
            return false;
        }
        int[] copies = best;
        int[] to = new int[copies.length];
        Arrays.setAll(to, k -> objective.client(copies[(k + 1) % to.length]));
        for (int copy : copies) {
            objective.take(copy);
        }
        for (int k = 0; k < to.length; k++) {
            objective.put(copies[k], to[k]);
        }
        return true;
    }

    /** Returns the seeker and the partner of its best two-way trade, or null if no trade gains enough. */
    private int[] findPair(int seeker, int[] partners) {
        double least = -objective.leastGain(seeker);
        int best = -1;
        for (int partner : partners) {
            if (areApart(seeker, partner)) {
                double rise = objective.measureRise(seeker, partner);
                rise += rise < Double.POSITIVE_INFINITY ? objective.measureRise(partner, seeker) : 0;
                if (rise < least) {
                    least = rise;
                    best = partner;
                }
            }
        }
        return best < 0 ? null : new int[] {seeker, best};
    }

    /** Returns the copies of the best three-way trade with the first {@code count} partners, or null. */
    private int[] findThree(int seeker, int[] partners, int count) {
        double least = -objective.leastGain(seeker);
        int[] best = null;
        for (int i = 0; i < count; i++) {
            int second = partners[i];
            double first = areApart(seeker, second) ? objective.measureRise(seeker, second) : Double.POSITIVE_INFINITY;
            for (int k = 0; k < count && first < Double.POSITIVE_INFINITY; k++) {
                int third = partners[k];
                if (areApart(seeker, third) && areApart(second, third)) {
                    double rise = first + objective.measureRise(second, third) + objective.measureRise(third, seeker);
                    if (rise < least) {
                        least = rise;
                        best = new int[] {seeker, second, third};
                    }
                }
            }
        }
        return best;
    }

    private boolean areApart(int copy, int other) {
        return objective.client(copy) != objective.client(other);
    }
}
