package io.github.optassign.exchange;

import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Brings the counts of an {@link Exchange} into their shares, as far as chains of copies reach, before it looks at what
 * copies weigh: circles through one node, such as the common end, would be found one after the other only.
 *
 * <p>It augments a flow. Each count is first cut to its share; a node has in excess what its counts were cut by, or
 * lacks it. Each round goes from all nodes with an excess at once, in breadth, and sends one unit along each way to a
 * node that lacks one. Ways of one round meet at their ends alone, so none spoils another.
 */
final class ExchangeRepair {
    private final Exchange exchange;
    private final ExchangeNodes nodes;
    private final ExchangeArcs arcs;
    private final Exchange.Counts counts;
    private final int clients;
    /** Per node of a subtopology its count, cut to its share. */
    private final int[] ofSubtopology;

    private final long[] ofSpecial;
    private final long[] ofAll;
    /** Per node what it has in excess; less than 0: it lacks that. */
    private final long[] excess;
    /** The round in which a node was reached last. */
    private final int[] reached;

    private final int[] cameFrom;
    private final int[] cameWith;
    /** The node behind the first one on the way to a node; -1: this is the first. */
    private final int[] branch;

    private final int[] source;
    private final boolean[] isDone;
    /** The nodes to look from, first come first served, round and round: none is there twice. */
    private final int[] queue;

    private int queueStart;
    private int queueSize;
    private final boolean[] isQueued;
    /** Per kind the clients that lack copies, whatever their subtopology. */
    private final int[][] lackingOf;
    /** Per pool the place of the client that is next. */
    private final int[] next;

    private int round;
    private int sent;
    private long looks;
    private long lastSent;

    ExchangeRepair(Exchange exchange, ExchangeNodes nodes, ExchangeArcs arcs, Exchange.Counts counts) {
        this.exchange = exchange;
        this.nodes = nodes;
        this.arcs = arcs;
        this.counts = counts;
        clients = counts.inAll().length;
        int count = nodes.count();
        ofSubtopology = new int[counts.in().length * clients];
        ofSpecial = new long[clients];
        ofAll = new long[clients];
        excess = new long[count];
        reached = new int[count];
        cameFrom = new int[count];
        cameWith = new int[count];
        branch = new int[count];
        source = new int[count];
        isDone = new boolean[count];
        queue = new int[count];
        isQueued = new boolean[count];
        next = new int[count];
        lackingOf = new int[arcs.kindCount()][];
        cut();
    }

    /** Cuts counts to their shares. */
    private void cut() {
        long[] others = new long[clients];
        for (int g = 0; g < counts.in().length; g++) {
            for (int c = 0; c < clients; c++) {
                int node = nodes.of(g, c);
                long cut = counts.shares()[g].cut(c, counts.in()[g][c]);
                ofSubtopology[node] = (int) cut;
                excess[node] = counts.in()[g][c] - cut;
                (counts.special()[g] ? ofSpecial : others)[c] += cut;
            }
        }
        for (int c = 0; c < clients; c++) {
            if (counts.ofSpecial() != null) {
                long cut = counts.ofSpecial().cut(c, ofSpecial[c]);
                excess[nodes.sum(true, c)] = ofSpecial[c] - cut;
                ofSpecial[c] = cut;
            }
            ofAll[c] = counts.ofAll().cut(c, ofSpecial[c] + others[c]);
            excess[nodes.all(c)] = ofSpecial[c] + others[c] - ofAll[c];
            excess[nodes.end()] += ofAll[c] - counts.inAll()[c];
        }
    }

    /** Repairs while that succeeds. */
    void run() {
        do {
            sent = 0;
            round++;
            queueSize = 0;
            Arrays.fill(next, 0);
            Arrays.setAll(lackingOf, this::findLacking);
            Arrays.fill(isQueued, false);
            for (int node = 0; node < excess.length; node++) {
                if (excess[node] > 0) {
                    reached[node] = round;
                    branch[node] = -1;
                    source[node] = node;
                    add(node);
                }
            }
            Arrays.fill(isDone, false);
            long begun = looks;
            lastSent = looks;
            // Ways that are found late cross those of this round; the next one finds them sooner.
            while (queueSize > 0 && (sent == 0 || looks - lastSent <= lastSent - begun)) {
                int node = poll();
                if (isOpen(node)) {
                    lookFrom(node);
                }
            }
        } while (sent > 0 && looks < GreedyPolicy.LOOKS);
    }

    private boolean isOpen(int node) {
        return excess[source[node]] > 0 && (branch[node] < 0 || !isDone[branch[node]]);
    }

    private void lookFrom(int node) {
        if (nodes.isOfSubtopology(node)) {
            int g = nodes.subtopology(node);
            int c = node - nodes.of(g, 0);
            if (ofSubtopology[node] < counts.shares()[g].high()[c]) {
                look(node, nodes.sum(counts.special()[g], c), -1);
            }
            if (arcs.hasAny(node)) {
                lookFromCopies(node, g, c);
            }
        } else if (node == nodes.end()) {
            for (int c = 0; c < clients; c++) {
                if (ofAll[c] > counts.ofAll().low()[c]) {
                    look(node, nodes.all(c), -1);
                }
            }
        } else {
            lookFromSums(node, nodes.client(node));
        }
    }

    private void lookFromCopies(int node, int g, int c) {
        for (int i = 0; i < arcs.count(node); i++) {
            look(node, nodes.of(g, arcs.taker(node, i)), arcs.task(node, i));
        }
        for (int kind = 0; kind < lackingOf.length; kind++) {
            int t = arcs.taskForKind(node, kind);
            if (t >= 0) {
                lookThrough(nodes.pool(g, kind), node, c, t);
            }
        }
    }

    /**
     * Goes through a pool to the next clients that were not reached, and to further ones once others had a turn: first
     * to clients that lack copies.
     */
    private void lookThrough(int pool, int node, int giver, int t) {
        int[] lacking = lackingOf[nodes.kind(pool)];
        int[] takers = arcs.clientsOf(nodes.kind(pool));
        int end = lacking.length + takers.length;
        int g = nodes.subtopology(node);
        int found = 0;
        for (; next[pool] < end && found < GreedyPolicy.FAN; next[pool]++) {
            int place = next[pool];
            int c = place < lacking.length ? lacking[(place + pool) % lacking.length] : takers[place - lacking.length];
            int to = nodes.of(g, c);
            if ((reached[to] != round || excess[to] < 0) && exchange.mayTake(t, giver, c)) {
                look(node, to, t);
                found++;
            }
        }
        if (next[pool] < end) {
            add(node);
        }
    }

    private int[] findLacking(int kind) {
        return Arrays.stream(arcs.clientsOf(kind))
                .filter(c -> excess[nodes.all(c)] < 0 || excess[nodes.sum(true, c)] < 0)
                .toArray();
    }

    private void add(int node) {
        if (!isQueued[node]) {
            isQueued[node] = true;
            int end = queueStart + queueSize++;
            queue[end < queue.length ? end : end - queue.length] = node;
        }
    }

    private int poll() {
        int node = queue[queueStart];
        queueStart = queueStart + 1 < queue.length ? queueStart + 1 : 0;
        queueSize--;
        isQueued[node] = false;
        return node;
    }

    private void lookFromSums(int node, int c) {
        if (node == nodes.all(c)) {
            if (ofAll[c] < counts.ofAll().high()[c]) {
                look(node, nodes.end(), -1);
            }
            look(node, nodes.sum(false, c), -1);
            if (counts.ofSpecial() != null && ofSpecial[c] > counts.ofSpecial().low()[c]) {
                look(node, nodes.sum(true, c), -1);
            }
            return;
        }
        boolean isSpecial = node == nodes.sum(true, c);
        if (!isSpecial || ofSpecial[c] < counts.ofSpecial().high()[c]) {
            look(node, nodes.all(c), -1);
        }
        for (int g = 0; g < counts.in().length; g++) {
            int of = nodes.of(g, c);
            if (counts.special()[g] == isSpecial
                    && ofSubtopology[of] > counts.shares()[g].low()[c]) {
                look(node, of, -1);
            }
        }
    }

    private void look(int from, int to, int task) {
        looks++;
        if (excess[to] < 0 && isOpen(from) && send(from, to, task)) {
            sent++;
            lastSent = looks;
        } else if (reached[to] != round) {
            reached[to] = round;
            cameFrom[to] = from;
            cameWith[to] = task;
            source[to] = source[from];
            branch[to] = branch[from] < 0 ? to : branch[from];
            add(to);
        }
    }

    /** Sends a unit to a node that lacks one, if the copies on its way may still move. */
    private boolean send(int from, int last, int lastTask) {
        List<int[]> steps = new ArrayList<>();
        int to = last;
        int task = lastTask;
        int taker = -1;
        for (int node = from; ; node = cameFrom[node]) {
            taker = nodes.isOfSubtopology(to) ? nodes.client(to) : taker;
            if (task >= 0) {
                int t = task;
                int giver = nodes.client(node);
                if (!exchange.has(t, giver)
                        || !exchange.mayTake(t, giver, taker)
                        || steps.stream().anyMatch(step -> step[0] == t)) {
                    return false;
                }
                steps.add(new int[] {t, giver, taker});
            }
            if (node == source[from]) {
                break;
            }
            to = node;
            task = cameWith[node];
        }
        count(from, last);
        for (int node = from; node != source[from]; node = cameFrom[node]) {
            count(cameFrom[node], node);
        }
        excess[source[from]]--;
        excess[last]++;
        if (branch[from] >= 0) {
            isDone[branch[from]] = true;
        }
        exchange.take(steps);
        return true;
    }

    /** Changes the count between two nodes, if it is one. */
    private void count(int from, int to) {
        int node = Math.min(from, to);
        int more = node == from ? 1 : -1;
        if (Math.max(from, to) < nodes.sum(true, 0)) {
            return; // a copy
        }
        int c = nodes.client(node);
        if (nodes.isOfSubtopology(node)) {
            ofSubtopology[node] += more;
        } else if (node == nodes.sum(true, c)) {
            ofSpecial[c] += more;
        } else if (node == nodes.all(c)) {
            ofAll[c] += more;
        }
    }
}
