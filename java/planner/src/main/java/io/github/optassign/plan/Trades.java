package io.github.optassign.plan;

import java.util.Arrays;

/**
 * A local search: clients trade copies while that lowers an objective, a sum of costs of clients.
 *
 * <p>In a trade two copies on different clients take each other's places. A copy may be a free place, so that the other
 * one is handed over. If no two copies gain, three may: each takes the place of the next one.
 */
final class Trades {
    /** A state of copies on clients, and the costs that trades lower. Copies are numbered by the objective. */
    interface Objective {
        /** Returns the copies that look for a trade in the next round, in their order. */
        int[] listSeekers();

        /** Returns copies on other clients that a seeker may trade with, the most promising first. */
        int[] listPartners(int seeker);

        /** Returns the client of a copy. */
        int client(int copy);

        /** Returns the rise in cost if a client gets a copy for another; infinite if it may not have the copy. */
        double measureRise(int copy, int place);

        /** Returns the least reduction of the objective for which a seeker trades. */
        double leastGain(int seeker);

        /** Takes a copy off its client. */
        void take(int copy);

        /** Puts a copy, which was taken off its client, on another one. */
        void put(int copy, int to);

        /** Returns how many partners of a seeker may trade in threes. */
        default int countInThrees() {
            return 0;
        }

        /** Makes a trade that only others may make worthwhile, where no trade gains. @return false if there is none */
        default boolean escape() {
            return false;
        }
    }

    private final Objective objective;

    private Trades(Objective objective) {
        this.objective = objective;
    }

    /** Trades until no seeker gains, for at most {@code rounds} rounds. */
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

    /** Makes the best trade of a seeker. @return false if none gains enough */
    private boolean trade(int seeker) {
        int[] partners = objective.listPartners(seeker);
        int[] best = findPair(seeker, partners);
        if (best == null) {
            best = findThree(seeker, partners, Math.min(partners.length, objective.countInThrees()));
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

    private int[] findPair(int seeker, int[] partners) {
        double least = -objective.leastGain(seeker);
        int best = -1;
        for (int partner : partners) {
            if (isApart(seeker, partner)) {
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

    private int[] findThree(int seeker, int[] partners, int count) {
        double least = -objective.leastGain(seeker);
        int[] best = null;
        for (int i = 0; i < count; i++) {
            int second = partners[i];
            double first = isApart(seeker, second) ? objective.measureRise(seeker, second) : Double.POSITIVE_INFINITY;
            for (int k = 0; k < count && first < Double.POSITIVE_INFINITY; k++) {
                int third = partners[k];
                if (isApart(seeker, third) && isApart(second, third)) {
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

    private boolean isApart(int copy, int other) {
        return objective.client(copy) != objective.client(other);
    }
}
