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

        /** Moves a copy to another client; a trade calls this once for each of its copies. */
        void move(int copy, int to);

        /** Returns how many partners of a seeker, from the first, are tried in three-way trades; 0 by default. */
        default int threeWayPartners() {
            return 0;
        }

        /** Changes the state or the allowed trades after a round without trades. Returns false, the default, to end. */
        default boolean escape() {
            return false;
        }
    }

    private final Objective objective;
    /** The reduction that a trade must exceed: the best trade's or, without a trade so far, the least gain. */
    private double gainToExceed;
    /** The present seeker's best trade: each copy takes the place of the next. Null if no trade gains enough. */
    private int[] best;

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
        gainToExceed = objective.leastGain(seeker);
        best = null;
        findBest(new int[] {seeker, -1}, 1, 0, partners);
        if (best == null) {
            int few = Math.min(partners.length, objective.threeWayPartners());
            findBest(new int[] {seeker, -1, -1}, 1, 0, Arrays.copyOf(partners, few));
        }
        if (best == null) {
            return false;
        }
        int[] to = new int[best.length];
        Arrays.setAll(to, k -> objective.client(best[(k + 1) % to.length]));
        for (int k = 0; k < to.length; k++) {
            objective.move(best[k], to[k]);
        }
        return true;
    }

    /** Extends the first {@code given} copies to trades with partners, and stores the best trade in {@link #best}. */
    private void findBest(int[] copies, int given, double riseSoFar, int[] partners) {
        for (int partner : partners) {
            double rise = riseSoFar + measureRise(copies[given - 1], partner);
            if (rise < Double.POSITIVE_INFINITY) {
                copies[given] = partner;
                if (given + 1 < copies.length) {
                    findBest(copies, given + 1, rise, partners);
                } else {
                    keepIfBest(copies, -rise - measureRise(partner, copies[0]));
                }
            }
        }
    }

    private void keepIfBest(int[] copies, double gained) {
        if (gained > gainToExceed) {
            gainToExceed = gained;
            best = copies.clone();
        }
    }

    /** Returns the objective's rise, or infinity if both copies are on one client. */
    private double measureRise(int copy, int place) {
        boolean isSameClient = objective.client(copy) == objective.client(place);
        return isSameClient ? Double.POSITIVE_INFINITY : objective.measureRise(copy, place);
    }
}
