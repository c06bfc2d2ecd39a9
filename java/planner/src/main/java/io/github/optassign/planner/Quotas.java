package io.github.optassign.planner;

import io.github.optassign.measuring.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;

/**
 * The number of actives of each subtopology for each client: near to the present numbers, and balanced per client and
 * subtopology, in stateful actives per client and in all actives per client.
 *
 * <p>If the rule of the nearest counts ({@link Shares#ofActives}) is left out, such numbers always exist. The exact
 * shares, which may be fractions, are in all shares at once; the shares are bounds of a flow from subtopologies through
 * clients, and a flow within whole bounds can be made of whole numbers.
 *
 * <p>The {@link Circulation} finds them by the fewest changes. It takes long where there is much to change among many,
 * so in large groups it begins with numbers that are nearly right: every number goes into its share, and every
 * subtopology gets its sum, where clients have too little or too much; then clients give single tasks to one another.
 */
final class Quotas {

    private final long[][] count;
    private final int clients;
    private final boolean[] stateful;
    private final long[] size;
    private final Shares[] shares;
    private final Shares ofStateful;
    private final Shares ofAll;
    private final long[][] quota;
    /** Per client its quotas of stateful subtopologies so far, and of all. */
    private final long[] statefulSum;

    private final long[] sum;

    private Quotas(Snapshot snapshot, long[][] count) {
        this.count = count;
        clients = snapshot.clientCount();
        stateful = new boolean[count.length];
        size = new long[count.length];
        long statefulTasks = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            stateful[snapshot.subtopology(t)] = snapshot.isStateful(t);
            size[snapshot.subtopology(t)]++;
            statefulTasks += snapshot.isStateful(t) ? 1 : 0;
        }
        shares = Shares.ofEach(size, 1, snapshot);
        ofStateful = Shares.of(statefulTasks, 1, snapshot);
        ofAll = Shares.ofActives(snapshot);
        quota = new long[count.length][clients];
        statefulSum = new long[clients];
        sum = new long[clients];
        for (int g = 0; g < count.length; g++) {
            for (int c = 0; c < clients; c++) {
                add(g, c, count[g][c]);
            }
        }
    }

    /**
     * Finds the quotas.
     *
     * @param count per subtopology and client the number of actives that are there
     * @return per subtopology and client the number of actives that should be there
     */
    static long[][] find(Snapshot snapshot, long[][] count) {
        Quotas quotas = new Quotas(snapshot, count);
        if ((long) count.length * quotas.clients * snapshot.taskCount() > GreedyPolicy.QUOTA_WORK) {
            quotas.putIntoShares();
            for (int g = 0; g < count.length; g++) {
                quotas.meetSum(g);
            }
            for (int c = 0; c < quotas.clients; c++) {
                quotas.offload(c);
            }
        }
        // In tens of thousands of random groups the nearest counts existed; where they do not, any between floor and
        // ceiling does.
        if (!quotas.circulate(quotas.ofAll) && !quotas.circulate(Shares.of(snapshot.taskCount(), 1, snapshot))) {
            throw new IllegalStateException("no balanced assignment of actives; one always exists");
        }
        return quotas.quota;
    }

    private void putIntoShares() {
        for (int g = 0; g < quota.length; g++) {
            for (int c = 0; c < clients; c++) {
                long within = Math.max(
                        shares[g].low()[c], Math.min(count[g][c], shares[g].high()[c]));
                add(g, c, within - quota[g][c]);
            }
        }
    }

    private void add(int g, int c, long more) {
        quota[g][c] += more;
        sum[c] += more;
        statefulSum[c] += stateful[g] ? more : 0;
    }

    /**
     * Adds to clients that have too little, or takes from clients that have too much, until all tasks are shared out.
     */
    private void meetSum(int g) {
        long missing = size[g];
        for (int c = 0; c < clients; c++) {
            missing -= quota[g][c];
        }
        int step = Long.signum(missing);
        long[] prices = new long[clients];
        Arrays.setAll(prices, c -> price(g, c, step));
        for (; missing != 0; missing -= step) {
            int best = 0;
            for (int c = 1; c < clients; c++) {
                best = prices[c] < prices[best] ? c : best;
            }
            add(g, best, step);
            prices[best] = price(g, best, step);
        }
    }

    /**
     * The price of a change: changes that bring a client nearer to its shares come first, then changes nearer to the
     * present numbers.
     */
    private long price(int g, int c, int step) {
        if (!mayChange(g, c, step)) {
            return Long.MAX_VALUE;
        }
        boolean isNearer = step > 0 ? count[g][c] > quota[g][c] : count[g][c] < quota[g][c];
        return 4 * measureRise(g, c, step) + (isNearer ? 0 : 1);
    }

    private boolean mayChange(int g, int c, int step) {
        long next = quota[g][c] + step;
        return next >= shares[g].low()[c] && next <= shares[g].high()[c];
    }

    /** By how much a client comes out of its shares with one more or less; negative: it comes nearer to them. */
    private long measureRise(int g, int c, int step) {
        long rise = measureDistance(ofAll, c, sum[c] + step) - measureDistance(ofAll, c, sum[c]);
        return stateful[g]
                ? rise
                        + measureDistance(ofStateful, c, statefulSum[c] + step)
                        - measureDistance(ofStateful, c, statefulSum[c])
                : rise;
    }

    private static long measureDistance(Shares of, int c, long number) {
        return Math.max(0, Math.max(of.low()[c] - number, number - of.high()[c]));
    }

    /**
     * Has a client out of its shares give single tasks to others, or take them, if both come nearer to their shares.
     */
    private void offload(int c) {
        for (int g = 0; g < quota.length; g++) {
            for (int step = -1; step <= 1; step += 2) {
                while (mayChange(g, c, step) && measureRise(g, c, step) < 0) {
                    int other = findOther(g, c, -step, -measureRise(g, c, step));
                    if (other < 0) {
                        break;
                    }
                    add(g, c, step);
                    add(g, other, -step);
                }
            }
        }
    }

    /**
     * The first client that may change by a step, and comes out of its shares by less than `gain`; -1: there is none.
     */
    private int findOther(int g, int c, int step, long gain) {
        for (int other = 0; other < clients; other++) {
            if (other != c && mayChange(g, other, step) && measureRise(g, other, step) < gain) {
                return other;
            }
        }
        return -1;
    }

    private boolean circulate(Shares all) {
        // Nodes: subtopologies, then per client its stateful, its stateless and all its tasks, then a common end.
        int statefulNode = quota.length;
        int statelessNode = statefulNode + clients;
        int allNode = statelessNode + clients;
        Circulation flow = new Circulation(allNode + clients + 1);
        int[][] arcs = new int[quota.length][clients];
        for (int g = 0; g < quota.length; g++) {
            for (int c = 0; c < clients; c++) {
                int to = (stateful[g] ? statefulNode : statelessNode) + c;
                arcs[g][c] = flow.addArc(g, to, shares[g].low()[c], shares[g].high()[c], quota[g][c]);
            }
        }
        for (int c = 0; c < clients; c++) {
            int sumNode = allNode + c;
            flow.addSum(
                    statefulNode + c, sumNode, ofStateful.low()[c], ofStateful.high()[c], statefulSum[c]);
            flow.addSum(statelessNode + c, sumNode, 0, Long.MAX_VALUE, sum[c] - statefulSum[c]);
            flow.addSum(sumNode, allNode + clients, all.low()[c], all.high()[c], sum[c]);
        }
        if (!flow.repair()) {
            return false;
        }
        for (int g = 0; g < quota.length; g++) {
            for (int c = 0; c < clients; c++) {
                quota[g][c] = flow.flow(arcs[g][c]);
            }
        }
        return true;
    }
}
