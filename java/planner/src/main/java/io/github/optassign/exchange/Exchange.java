package io.github.optassign.exchange;

import io.github.optassign.measuring.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.List;

/**
 * Has clients exchange copies if that brings counts nearer to their shares or, if it does not, makes a plan cheaper,
 * and takes no count further out of its share. It goes along circles of clients, in which each gives a copy and gets
 * another, and along chains whose ends have room.
 *
 * <p>In large groups {@link ExchangeRepair} first brings counts into their shares. Then it cancels negative circles of
 * a flow (Klein): nodes are the counts that have shares ({@link ExchangeNodes}), and arcs between two clients of a
 * subtopology are copies that one may take over from the other ({@link ExchangeArcs}). A way is as long as what it adds
 * to the imbalance and, of equals, to the weight of copies. No simple circle comes to a node twice, so each count
 * changes by at most one. Distances (Bellman and Ford) are gone on with from circle to circle, and only from nodes that
 * have come nearer or have other arcs: whatever the distances are, some arc shortens one while there is a negative
 * circle. Once there is none any more, the copies are at their cheapest places. The search is bounded, by number and
 * not by time, so that the same group always gets the same plan.
 */
abstract class Exchange {

    private final Snapshot snapshot;
    private final Counts counts;
    private final ExchangeNodes nodes;
    private final ExchangeArcs arcs;
    private final ExchangeLabels labels;
    /** The walk that came to a node last, in the search for circles. */
    private final int[] seen;

    private int walks;

    /**
     * The shares, and what is counted in them.
     *
     * @param shares per subtopology, of a client's copies of its tasks
     * @param in per subtopology and client the copies of its tasks
     * @param special per subtopology whether its copies are counted in ofSpecial too
     * @param ofSpecial of a client's copies of such tasks; null: no subtopology is special
     * @param inSpecial per client the copies of such tasks
     * @param ofAll of all of a client's copies
     * @param inAll per client all of its copies
     */
    record Counts(
            Shares[] shares,
            long[][] in,
            boolean[] special,
            Shares ofSpecial,
            long[] inSpecial,
            Shares ofAll,
            long[] inAll) {}

    /**
     * Reads a plan.
     *
     * @param kinds per client its kind, from 0: clients of one kind may take the same copies, unless more is known of
     *     one than of the other
     */
    Exchange(Snapshot snapshot, Counts counts, int[] kinds) {
        this.snapshot = snapshot;
        this.counts = counts;
        nodes = new ExchangeNodes(snapshot.clientCount(), counts, kinds);
        arcs = new ExchangeArcs(snapshot, this, kinds);
        labels = new ExchangeLabels(nodes.isTooMany() ? 0 : nodes.count());
        seen = new int[labels.nodeCount()];
    }

    /** The clients that have a copy of the role of a task, which may be given away. */
    abstract int[] givers(int t);

    /** The clients, sorted, that differ from the others in state of a task. */
    abstract int[] columns(int t);

    /** The weight of having a copy of a task on another client instead; {@link #mayTake} says where it may be. */
    abstract long measureChange(int t, int from, int to);

    /** Whether a client may have the copy instead of another. */
    abstract boolean mayTake(int t, int from, int to);

    /** Moves a copy; the counts are brought up to date by this class. */
    abstract void move(int t, int from, int to);

    /** Exchanges copies while that is cheaper. */
    public final void run() {
        if (labels.nodeCount() == 0) {
            return;
        }
        arcs.findAll();
        if (labels.nodeCount() >= GreedyPolicy.REPAIR_FROM) {
            new ExchangeRepair(this, nodes, arcs, counts).run();
        }
        for (int node = 0; node < labels.nodeCount(); node++) {
            labels.note(node);
        }
        while (labels.nextSize() > 0 && labels.looks() < GreedyPolicy.LOOKS) {
            int size = labels.nextSize();
            int[] now = labels.beginRound();
            for (int i = 0; i < size; i++) {
                if (labels.isReached(now[i]) || mayShorten(now[i])) {
                    relax(now[i]);
                }
            }
            if (takeCircles()) {
                labels.forgetWays();
            }
        }
    }

    /** Whether an arc from a node that no way has reached may be less than nothing: most nodes have none. */
    private boolean mayShorten(int node) {
        return nodes.isOfSubtopology(node) ? arcs.hasAny(node) || nodes.isBelow(node) : !nodes.isPool(node);
    }

    private void relax(int node) {
        if (nodes.isOfSubtopology(node)) {
            int g = nodes.subtopology(node);
            int first = nodes.of(g, 0);
            arcs.look(node, first, nodes.pool(g, 0), labels);
            nodes.lookUp(node, g, node - first, labels);
        } else if (nodes.isPool(node)) {
            int g = nodes.subtopology(node);
            for (int c : arcs.clientsOf(nodes.kind(node))) {
                labels.look(node, nodes.of(g, c), 0, 0, -1);
            }
        } else {
            nodes.lookFromSums(node, labels);
        }
    }

    /** Takes the circles of the shortest ways that go through nodes reached just now; false: there is none yet. */
    private boolean takeCircles() {
        boolean any = false;
        int before = walks;
        int size = labels.nextSize();
        for (int i = 0; i < size; i++) {
            walks++;
            int node = labels.next(i);
            while (node >= 0 && seen[node] <= before) {
                seen[node] = walks;
                node = labels.cameFrom(node);
            }
            if (node >= 0 && seen[node] == walks) {
                any |= takeCircle(node);
            }
        }
        return any;
    }

    private boolean takeCircle(int start) {
        List<int[]> steps = new ArrayList<>();
        List<Integer> reached = new ArrayList<>();
        long rise = 0;
        long sum = 0;
        int node = start;
        int taker = -1;
        do {
            int from = labels.cameFrom(node);
            taker = nodes.isOfSubtopology(node) ? nodes.client(node) : taker;
            int t = labels.cameWith(node);
            if (t >= 0) {
                int giver = nodes.client(from);
                int to = nodes.isPool(node) && node == start ? findTaker(node) : taker;
                boolean isThere = has(t, giver) && mayTake(t, giver, to);
                if (!isThere || steps.stream().anyMatch(step -> step[0] == t)) {
                    drop(node, t, giver);
                    return false;
                }
                steps.add(new int[] {t, giver, to});
                reached.add(node);
                sum += measureChange(t, giver, to);
            } else if (!nodes.isPool(from)) {
                rise += nodes.measureRise(from, node);
            }
            node = from;
        } while (node != start);
        if (rise > 0 || (rise == 0 && sum >= 0)) {
            for (int i = 0; i < steps.size(); i++) {
                drop(reached.get(i), steps.get(i)[0], steps.get(i)[1]);
            }
            return false;
        }
        take(steps);
        return true;
    }

    /**
     * Forgets the way by which a node was reached: a circle before this one has made it another; or, of a pool, who
     * would take the task is one that something is known of, and has a way of his own.
     */
    private void drop(int node, int t, int giver) {
        labels.forgetWay(node);
        if (nodes.isPool(node)) {
            arcs.ban(t, giver);
            labels.note(nodes.of(snapshot.subtopology(t), giver));
        }
    }

    /** Finds the taker of a copy from a pool, at the beginning of a walk round a circle: the last node of the walk. */
    private int findTaker(int pool) {
        int node = pool;
        while (labels.cameFrom(node) != pool) {
            node = labels.cameFrom(node);
        }
        return nodes.client(node);
    }

    /** Whether a client has a copy of the role. */
    boolean has(int t, int c) {
        for (int giver : givers(t)) {
            if (giver == c) {
                return true;
            }
        }
        return false;
    }

    /** Makes steps, each a task, its giver and its taker, and finds out what may be given now. */
    void take(List<int[]> steps) {
        for (int[] step : steps) {
            move(step[0], step[1], step[2]);
            arcs.move(step[0], step[1], step[2]);
            count(snapshot.subtopology(step[0]), step[1], -1);
            count(snapshot.subtopology(step[0]), step[2], 1);
        }
        for (int[] step : steps) {
            int g = snapshot.subtopology(step[0]);
            arcs.find(g, step[1]);
            // A client with another copy of the task may give it to others now.
            for (int c : givers(step[0])) {
                arcs.find(g, c);
                nodes.forEachOf(g, c, labels::note);
            }
            nodes.forEachOf(g, step[1], labels::note);
        }
    }

    private void count(int g, int c, int more) {
        counts.in[g][c] += more;
        counts.inAll[c] += more;
        if (counts.ofSpecial != null && counts.special[g]) {
            counts.inSpecial[c] += more;
        }
        nodes.update(g, c);
    }
}
