package io.github.optassign.exchange;

import io.github.optassign.measuring.Shares;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntConsumer;

/**
 * The nodes of an {@link Exchange}: for each subtopology and client its copies; for each subtopology and kind of
 * clients a pool, through which passes what any of them may take alike; for each client its copies of special
 * subtopologies, of the others, and all; and a common end.
 */
final class ExchangeNodes {

    private final int clients;
    private final int subtopologies;
    private final int kinds;
    private final Exchange.Counts counts;
    /** The first node that is neither of a subtopology nor a pool. */
    private final int first;
    /** Per node of a subtopology how far its count is below its share; -1: it may not rise. */
    private final int[] below;
    /** The same for above; -1: it may not fall. */
    private final int[] above;
    /** Per client the subtopologies of which it may have one copy less. */
    private final BitSet[] spare;

    /** The special subtopologies. */
    private final boolean[] special;

    ExchangeNodes(int clients, Exchange.Counts counts, int[] kinds) {
        this.clients = clients;
        this.counts = counts;
        subtopologies = counts.in().length;
        this.kinds = Arrays.stream(kinds).max().orElse(-1) + 1;
        first = subtopologies * (clients + this.kinds);
        special = counts.special();
        boolean isLarge = isTooMany();
        below = new int[isLarge ? 0 : subtopologies * clients];
        above = new int[below.length];
        spare = new BitSet[isLarge ? 0 : clients];
        Arrays.setAll(spare, c -> new BitSet(subtopologies));
        for (int g = 0; g < subtopologies; g++) {
            for (int c = 0; c < spare.length; c++) {
                update(g, c);
            }
        }
    }

    /** Takes down that the number of a client's copies of a subtopology has changed. */
    void update(int g, int c) {
        long low = counts.shares()[g].low()[c];
        long high = counts.shares()[g].high()[c];
        long count = counts.in()[g][c];
        below[of(g, c)] = count < high ? (int) Math.max(0, low - count) : -1;
        above[of(g, c)] = count > low ? (int) Math.max(0, count - high) : -1;
        spare[c].set(g, count > low);
    }

    /** Whether a client has too few copies of a subtopology. */
    boolean isBelow(int node) {
        return below[node] > 0;
    }

    /** Whether there are more than memory should be spent on. */
    boolean isTooMany() {
        return (long) subtopologies * clients * (2 + (long) kinds) > GreedyPolicy.NODES;
    }

    int count() {
        return subtopologies * clients + subtopologies * kinds + 3 * clients + 1;
    }

    /** The node of a client's copies of a subtopology. */
    int of(int g, int c) {
        return g * clients + c;
    }

    boolean isOfSubtopology(int node) {
        return node < subtopologies * clients;
    }

    int pool(int g, int kind) {
        return subtopologies * clients + g * kinds + kind;
    }

    boolean isPool(int node) {
        return node >= subtopologies * clients && node < first;
    }

    /** For a node of a subtopology, or of a pool. */
    int subtopology(int node) {
        return isPool(node) ? (node - subtopologies * clients) / kinds : node / clients;
    }

    /** For a node of a client. */
    int client(int node) {
        return (node < first ? node : node - first) % clients;
    }

    /** Of a pool. */
    int kind(int node) {
        return (node - subtopologies * clients) % kinds;
    }

    /** The node of a client's copies of special subtopologies, or of the others. */
    int sum(boolean isSpecial, int c) {
        return first + (isSpecial ? 0 : clients) + c;
    }

    /** The node of all copies of a client. */
    int all(int c) {
        return first + 2 * clients + c;
    }

    int end() {
        return count() - 1;
    }

    /** Hands over the nodes at which ways may begin or end otherwise, once counts of a client have changed. */
    void forEachOf(int g, int c, IntConsumer taking) {
        taking.accept(of(g, c));
        taking.accept(sum(counts.special()[g], c));
        taking.accept(all(c));
        taking.accept(end());
    }

    /** Examines the way up from a client's copies of a subtopology, where one more may be counted. */
    void lookUp(int node, int g, int c, ExchangeLabels labels) {
        if (below[node] >= 0) {
            look(node, sum(special[g], c), -below[node], labels);
        }
    }

    /**
     * Examines where a way leads to from sums of counts: up, where one more may be counted, and down, where one less
     * may.
     */
    void lookFromSums(int node, ExchangeLabels labels) {
        if (node == end()) {
            for (int c = 0; c < clients; c++) {
                if (mayFall(counts.ofAll(), counts.inAll(), c)) {
                    look(node, all(c), -measureDistance(counts.ofAll(), counts.inAll(), c), labels);
                }
            }
        } else if (node >= first + 2 * clients) {
            lookFromAll(node, node - first - 2 * clients, labels);
        } else {
            lookFromSum(node, node < first + clients ? node - first : node - first - clients, labels);
        }
    }

    private void lookFromAll(int node, int c, ExchangeLabels labels) {
        if (mayRise(counts.ofAll(), counts.inAll(), c)) {
            look(node, end(), -measureDistance(counts.ofAll(), counts.inAll(), c), labels);
        }
        look(node, sum(false, c), 0, labels);
        if (counts.ofSpecial() != null && mayFall(counts.ofSpecial(), counts.inSpecial(), c)) {
            look(node, sum(true, c), -measureDistance(counts.ofSpecial(), counts.inSpecial(), c), labels);
        }
    }

    private void lookFromSum(int node, int c, ExchangeLabels labels) {
        boolean isSpecial = node < first + clients;
        if (!isSpecial) {
            look(node, all(c), 0, labels);
        } else if (counts.ofSpecial() != null && mayRise(counts.ofSpecial(), counts.inSpecial(), c)) {
            look(node, all(c), -measureDistance(counts.ofSpecial(), counts.inSpecial(), c), labels);
        }
        for (int g = spare[c].nextSetBit(0); g >= 0; g = spare[c].nextSetBit(g + 1)) {
            if (special[g] == isSpecial) {
                int of = of(g, c);
                look(node, of, -above[of], labels);
            }
        }
    }

    private static void look(int from, int to, long rise, ExchangeLabels labels) {
        labels.look(from, to, rise, 0, -1);
    }

    /**
     * By how much the imbalance rises on a way by counts alone; negative: a count comes nearer to its share, by its
     * distance, so that the furthest is repaired first.
     */
    long measureRise(int from, int to) {
        if (from < first || to < first) {
            int node = Math.min(from, to);
            int g = subtopology(node);
            return -measureDistance(counts.shares()[g], counts.in()[g], client(node));
        }
        int node = Math.min(from, to);
        int c = (node - first) % clients;
        if (Math.max(from, to) == end()) {
            return -measureDistance(counts.ofAll(), counts.inAll(), c);
        }
        boolean isSpecial = node < first + clients && counts.ofSpecial() != null;
        return isSpecial ? -measureDistance(counts.ofSpecial(), counts.inSpecial(), c) : 0;
    }

    private static long measureDistance(Shares share, long[] count, int c) {
        return Math.max(0, Math.max(share.low()[c] - count[c], count[c] - share.high()[c]));
    }

    private static boolean mayRise(Shares share, long[] count, int c) {
        return count[c] < share.high()[c];
    }

    private static boolean mayFall(Shares share, long[] count, int c) {
        return count[c] > share.low()[c];
    }
}
