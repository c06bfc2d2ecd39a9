package io.github.optassign.exchange;

import io.github.optassign.measuring.Shares;
import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
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

    ExchangeNodes(int clients, Exchange.Counts counts, int[] kinds) {
        this.clients = clients;
        this.counts = counts;
        subtopologies = counts.in().length;
        this.kinds = Arrays.stream(kinds).max().orElse(-1) + 1;
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
        return node >= subtopologies * clients && node < subtopologies * (clients + kinds);
    }

    /** For a node of a subtopology, or of a pool. */
    int subtopology(int node) {
        return isPool(node) ? (node - subtopologies * clients) / kinds : node / clients;
    }

    /** For a node of a subtopology. */
    int client(int node) {
        return node % clients;
    }

    /** Of a pool. */
    int kind(int node) {
        return (node - subtopologies * clients) % kinds;
    }

    private int sum(boolean isSpecial, int c) {
        return subtopologies * (clients + kinds) + (isSpecial ? 0 : clients) + c;
    }

    private int all(int c) {
        return subtopologies * (clients + kinds) + 2 * clients + c;
    }

    private int end() {
        return count() - 1;
    }

    /** Hands over the nodes at which ways may begin or end otherwise, once counts of a client have changed. */
    void forEachOf(int g, int c, IntConsumer taking) {
        taking.accept(of(g, c));
        taking.accept(sum(counts.special()[g], c));
        taking.accept(all(c));
        taking.accept(end());
    }

    /**
     * Hands over the nodes that a way leads to by counts alone: up, where one more may be counted, and down, where one
     * less may.
     */
    void forEachWay(int node, IntConsumer taking) {
        int first = subtopologies * (clients + kinds);
        if (isOfSubtopology(node)) {
            int g = subtopology(node);
            int c = client(node);
            if (mayRise(counts.shares()[g], counts.in()[g], c)) {
                taking.accept(sum(counts.special()[g], c));
            }
        } else if (node == end()) {
            for (int c = 0; c < clients; c++) {
                if (mayFall(counts.ofAll(), counts.inAll(), c)) {
                    taking.accept(all(c));
                }
            }
        } else if (node >= first + 2 * clients) {
            int c = node - first - 2 * clients;
            if (mayRise(counts.ofAll(), counts.inAll(), c)) {
                taking.accept(end());
            }
            taking.accept(sum(false, c));
            if (counts.ofSpecial() != null && mayFall(counts.ofSpecial(), counts.inSpecial(), c)) {
                taking.accept(sum(true, c));
            }
        } else if (node >= first) {
            boolean isSpecial = node < first + clients;
            int c = (node - first) % clients;
            if (!isSpecial || (counts.ofSpecial() != null && mayRise(counts.ofSpecial(), counts.inSpecial(), c))) {
                taking.accept(all(c));
            }
            for (int g = 0; g < subtopologies; g++) {
                if (counts.special()[g] == isSpecial && mayFall(counts.shares()[g], counts.in()[g], c)) {
                    taking.accept(of(g, c));
                }
            }
        }
    }

    /**
     * By how much the imbalance rises on a way by counts alone; negative: a count comes nearer to its share, by its
     * distance, so that the furthest is repaired first.
     */
    long measureRise(int from, int to) {
        int first = subtopologies * (clients + kinds);
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
