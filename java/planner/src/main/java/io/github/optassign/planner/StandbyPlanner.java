package io.github.optassign.planner;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.measuring.Shares;
import io.github.optassign.measuring.TagSpread;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * Plans the standbys, once the actives are planned: as evenly as possible without moving what is in place.
 *
 * <p>Its passes:
 *
 * <ol>
 *   <li>{@link #keepCaughtUp} leaves caught up copies where they are, as long as their client has room: first those
 *       known to be standbys, then other state on a disk, such as that of former actives.
 *   <li>{@link #placeMissing} puts the others where they cost least among clients with room.
 *   <li>{@link #evenOut} moves the cheapest standbys until every client is in its share or no move helps.
 * </ol>
 */
final class StandbyPlanner {
    /** In place of a client: any that stays in its share. */
    private static final int ANY = -1;

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final RackTraffic traffic;
    private final TagSpread spread;
    private final Placement plan;
    /** The shares of a client's copies of logged tasks. */
    private final Shares shares;
    /** Per subtopology, of a client's copies of its logged tasks. */
    private final Shares[] ofSubtopology;
    /** Per client its copies of logged tasks so far. */
    private final long[] copies;
    /** Per subtopology and client its copies of logged tasks so far. */
    private final long[][] subtopologyCopies;

    private StandbyPlanner(Snapshot snapshot, Ranks ranks, Previous previous, RackTraffic traffic, int[] active) {
        this.traffic = traffic;
        spread = new TagSpread(snapshot);
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        plan = Placement.empty(snapshot.taskCount());
        System.arraycopy(active, 0, plan.active(), 0, active.length);
        copies = new long[snapshot.clientCount()];
        subtopologyCopies = new long[snapshot.subtopologyCount()][snapshot.clientCount()];
        long logged = 0;
        long[] loggedIn = new long[snapshot.subtopologyCount()];
        for (int t = 0; t < active.length; t++) {
            if (snapshot.isLogged(t)) {
                logged++;
                loggedIn[snapshot.subtopology(t)]++;
                addToCounts(t, active[t], 1);
            }
        }
        int copiesPerTask = snapshot.standbysPerTask() + 1;
        shares = Shares.of(logged, copiesPerTask, snapshot);
        ofSubtopology = Shares.ofEach(loggedIn, copiesPerTask, snapshot);
    }

    /**
     * Plans the standbys.
     *
     * @param active per task the client that is to have its active
     * @return the plan with these actives
     */
    static Placement plan(Snapshot snapshot, Ranks ranks, Previous previous, RackTraffic traffic, int[] active) {
        StandbyPlanner planner = new StandbyPlanner(snapshot, ranks, previous, traffic, active);
        if (snapshot.standbysPerTask() > 0) {
            planner.keepCaughtUp();
            planner.placeMissing();
            planner.evenOut();
        }
        return planner.plan;
    }

    private void addToCounts(int t, int c, int more) {
        copies[c] += more;
        subtopologyCopies[snapshot.subtopology(t)][c] += more;
    }

    private void add(int t, int c) {
        plan.addStandby(t, c);
        addToCounts(t, c, 1);
    }

    private boolean isFull(int c) {
        return copies[c] >= shares.high()[c];
    }

    private boolean isOver(int c) {
        return copies[c] > shares.high()[c];
    }

    private boolean isFullFor(int t, int c) {
        int g = snapshot.subtopology(t);
        return isFull(c) || subtopologyCopies[g][c] >= ofSubtopology[g].high()[c];
    }

    private boolean lacksStandby(int t) {
        return snapshot.isLogged(t) && plan.standby()[t].length < snapshot.standbysPerTask();
    }

    private void keepCaughtUp() {
        keepCaughtUp(previous::standbys);
        keepCaughtUp(snapshot::holders);
    }

    /**
     * Keeps caught up copies, the least lag first: if there is no memory, it is unknown which directories were
     * standbys, but the one that lags least most likely was.
     *
     * @param clients task to the clients that may keep one, sorted
     */
    private void keepCaughtUp(IntFunction<int[]> clients) {
        for (int t = 0; t < snapshot.taskCount(); t++) {
            while (lacksStandby(t)) {
                int best = -1;
                int greatest = spread.findGreatestGain(plan, t);
                for (int c : clients.apply(t)) {
                    boolean fits = !plan.hasCopy(t, c)
                            && ranks.rank(t, c) == 0
                            && !isFull(c)
                            && spread.gain(plan, t, c) >= greatest;
                    if (fits && (best < 0 || ranks.offsets(t, c) < ranks.offsets(t, best))) {
                        best = c;
                    }
                }
                if (best < 0) {
                    break;
                }
                add(t, best);
            }
        }
    }

    private void placeMissing() {
        RoomOrder[] orders = new RoomOrder[ofSubtopology.length];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            while (lacksStandby(t)) {
                add(t, findBest(t, orders));
            }
        }
    }

    /** The first client by {@link #compare}. Clients of the pool differ by tags, racks and room alone. */
    private int findBest(int t, RoomOrder[] orders) {
        int[] columns = snapshot.columns(t);
        int other = snapshot.poolClient(t);
        long costOfPool = other < 0 ? 0 : ranks.cost(t, other);
        int best = -1;
        long least = 0;
        for (int c : columns) {
            if (!plan.hasCopy(t, c) && (best < 0 || compare(t, c, ranks.cost(t, c), best, least) < 0)) {
                best = c;
                least = ranks.cost(t, c);
            }
        }
        int first = spread.matters() || traffic.matters()
                ? findBestOfPool(t, columns)
                : findFirstOfPool(t, columns, orders);
        int order = first < 0 ? 1 : best < 0 ? -1 : compare(t, first, costOfPool, best, least);
        return order < 0 || (order == 0 && first < best) ? first : best;
    }

    /** The first client of the pool where tags or racks matter; -1: there is none. */
    private int findBestOfPool(int t, int[] columns) {
        int[] gains = spread.findGains(plan, t);
        int best = -1;
        long least = 0;
        for (int c : snapshot.firstOthers(columns, snapshot.clientCount())) {
            if (plan.hasCopy(t, c)) {
                continue;
            }
            long lost = snapshot.isDraining(c) ? snapshot.tagCount() + 1 : 0;
            lost += snapshot.tagCount() - (gains.length == 0 ? 0 : gains[spread.kind(c)]);
            long order = ((4 * lost + measureFullness(t, c)) << Integer.SIZE) + traffic.crossingsOfStandby(t, c);
            boolean isFirst = best < 0 || order < least;
            if (isFirst || (order == least && snapshot.compareLoad(copies[c], c, copies[best], best) < 0)) {
                best = c;
                least = order;
            }
        }
        return best;
    }

    /** The same where neither matters: there is one order of clients for all tasks of a subtopology. */
    private int findFirstOfPool(int t, int[] columns, RoomOrder[] orders) {
        int g = snapshot.subtopology(t);
        if (orders[g] == null) {
            orders[g] = new RoomOrder(snapshot.clientCount(), c -> findPlace(t, c));
        }
        return orders[g].findFirst(c -> !plan.hasCopy(t, c) && Arrays.binarySearch(columns, c) < 0);
    }

    private RoomOrder.Place findPlace(int t, int c) {
        int reluctance = (snapshot.isDraining(c) ? 4 : 0) + measureFullness(t, c);
        return new RoomOrder.Place(reluctance, (copies[c] + 1.0) / snapshot.size(c), c);
    }

    /** From 0, a client with room, to 3: it has no room at all, nor any for this subtopology. */
    private int measureFullness(int t, int c) {
        return (isFull(c) ? 2 : 0) + (isFullFor(t, c) ? 1 : 0);
    }

    /**
     * Compares clients for a standby: first clients that do not drain, then zones without a copy, room, cost, reads
     * across racks, then copies per thread with one more. Zones come before room: without them the copies of a task may
     * be lost together, while {@link #evenOut} sees to the numbers.
     */
    private int compare(int t, int a, long costOfA, int b, long costOfB) {
        int order = Boolean.compare(snapshot.isDraining(a), snapshot.isDraining(b));
        if (order == 0 && spread.matters()) {
            order = Integer.compare(spread.gain(plan, t, b), spread.gain(plan, t, a));
        }
        order = order != 0 ? order : Boolean.compare(isFull(a), isFull(b));
        order = order != 0 ? order : Boolean.compare(isFullFor(t, a), isFullFor(t, b));
        order = order != 0 ? order : Long.compare(costOfA, costOfB);
        order = order != 0
                ? order
                : Integer.compare(traffic.crossingsOfStandby(t, a), traffic.crossingsOfStandby(t, b));
        return order != 0 ? order : snapshot.compareLoad(copies[a], a, copies[b], b);
    }

    /** Fills clients below their shares from any that can spare a standby, then offloads clients above their shares. */
    private void evenOut() {
        for (int c = 0; c < snapshot.clientCount(); c++) {
            boolean moved = true;
            while (moved && copies[c] < shares.low()[c]) {
                moved = moveCheapest(ANY, c);
            }
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            boolean moved = true;
            while (moved && copies[c] > shares.high()[c]) {
                moved = moveCheapest(c, ANY);
            }
        }
    }

    /**
     * Moves the cheapest standby from one client to another; {@link #ANY} stands for any client. Among equals it takes
     * one of a client above its share, which has to give one anyway.
     *
     * @return false if there is none
     */
    private boolean moveCheapest(int from, int to) {
        int task = -1;
        int giver = -1;
        int taker = -1;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int holder : plan.standby()[t]) {
                if (from == ANY ? copies[holder] <= shares.low()[holder] : holder != from) {
                    continue;
                }
                int first = to == ANY ? 0 : to;
                int last = to == ANY ? snapshot.clientCount() - 1 : to;
                for (int c = first; c <= last; c++) {
                    boolean takes = !plan.hasCopy(t, c) && (to != ANY || !isFull(c));
                    if (!takes || spread.gain(plan, t, c, holder) < spread.gain(plan, t, holder, holder)) {
                        continue;
                    }
                    int order = task < 0 ? -1 : Long.compare(ranks.cost(t, c), ranks.cost(task, taker));
                    if (order < 0 || (order == 0 && isOver(holder) && !isOver(giver))) {
                        task = t;
                        giver = holder;
                        taker = c;
                    }
                }
            }
        }
        if (task < 0) {
            return false;
        }
        plan.removeStandby(task, giver);
        addToCounts(task, giver, -1);
        add(task, taker);
        return true;
    }
}
