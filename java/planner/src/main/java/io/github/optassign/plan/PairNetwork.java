package io.github.optassign.plan;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A {@link PairChoice} as a minimum-cost flow.
 *
 * <p>Units go from tasks to cells (a subtopology on a client), from cells to the levels of the client, and to a sink.
 * The clients of one kind that are no columns of a task cost the same, so their units go through a pool, one for each
 * subtopology and kind. Units to tied clients pass a gate, and only some pass it free. {@link TagValues} draws the
 * units of a task to clients with different values of tags.
 */
final class PairNetwork {
    private static final int[] NONE = {};

    private final Snapshot snapshot;
    private final PairChoice choice;
    private final ClientKinds kinds;
    private final Bounds bounds;
    private final MinCostFlow flow = new MinCostFlow();
    private final int clients;
    private final TagValues values;
    /** Whether tasks with columns have an arc to each client, so that they need not be dealt places. */
    private final boolean isSmall;
    /** Per task the clients with an arc of their own, and the arcs. */
    private final int[][] columns;

    private final int[][] toColumns;
    /** Per task and kind how many clients the task gets through the pool. */
    private final int[][] pooled;
    /** Per subtopology and kind the node of the pool. */
    private final int[][] pool;
    /** Per subtopology and client how many tasks have a column there. */
    private final int[][] listed;
    /** Per subtopology and client how many tasks may come from the pool. */
    private final int[][] takers;
    /** Per subtopology and client how many fixed pairs there are. */
    private final int[][] given;
    /** Per subtopology and client the node of the cell, -1 if none. */
    private final int[][] cell;
    /** Per subtopology and client the arc from the pool; -1 if none. */
    private final int[][] fromPool;
    /** Per level and client its node. */
    private final int[][] levels;
    /** Per subtopology its innermost level. */
    private final int[] inner;

    /** Tasks whose units pass the same nodes. */
    private final List<Alike> groups = new ArrayList<>();

    /** A task, or tasks without columns and ties whose costs differ by a constant, and arcs to pools, or -1. */
    private record Alike(List<Integer> tasks, int[] toPool) {}

    /** Builds the network. @param isSoft whether bounds give way, at the price of the imbalance */
    PairNetwork(Snapshot snapshot, PairChoice choice, ClientKinds kinds, boolean isSoft) {
        this.snapshot = snapshot;
        this.choice = choice;
        this.kinds = kinds;
        bounds = new Bounds(flow, isSoft);
        clients = snapshot.clientCount();
        int tasks = snapshot.taskCount();
        int subtopologies = snapshot.subtopologyCount();
        values = new TagValues(snapshot, choice, kinds, flow, isSoft);
        isSmall = (long) tasks * clients <= GreedyPolicy.EXPLICIT_PAIRS;
        columns = new int[tasks][];
        toColumns = new int[tasks][];
        pooled = new int[tasks][];
        pool = new int[subtopologies][kinds.count()];
        listed = new int[subtopologies][clients];
        takers = new int[subtopologies][clients];
        given = new int[subtopologies][clients];
        cell = new int[subtopologies][clients];
        fromPool = new int[subtopologies][clients];
        levels = new int[choice.levels().size()][clients];
        inner = new int[subtopologies];
        for (int g = 0; g < subtopologies; g++) {
            Arrays.setAll(pool[g], kind -> flow.addNode(0));
            Arrays.fill(cell[g], -1);
            Arrays.fill(fromPool[g], -1);
            while (!choice.levels().get(inner[g]).counts().test(g)) {
                inner[g]++;
            }
        }
        for (int[] level : levels) {
            Arrays.setAll(level, c -> flow.addNode(0));
        }
        for (int t = 0; t < tasks; t++) {
            findColumns(t);
        }
        addCells();
        Map<List<Long>, List<Integer>> alike = new LinkedHashMap<>();
        for (int t = 0; t < tasks; t++) {
            if (choice.need()[t] > 0) {
                values.expect(t);
                alike.computeIfAbsent(describe(t), absent -> new ArrayList<>()).add(t);
            }
        }
        alike.values().forEach(this::addTasks);
        addLevels();
    }

    /** Finds a flow. @return whether it keeps all bounds, and no other can have more values of tags */
    boolean solve() {
        boolean isRouted = flow.solve(GreedyPolicy.FLOW_WORK);
        List<Integer> kindsInTurn = values.sortKinds();
        groups.forEach(group -> deal(group, kindsInTurn));
        return isRouted && values.areMost();
    }

    /** Returns the columns of a task that are chosen, sorted. */
    int[] listChosen(int t) {
        return IntStream.range(0, columns[t].length)
                .filter(i -> flow.flow(toColumns[t][i]) > 0)
                .map(i -> columns[t][i])
                .toArray();
    }

    /** Returns how many clients of a kind a task gets through the pool. */
    int countPooled(int t, int kind) {
        return choice.need()[t] == 0 ? 0 : pooled[t][kind];
    }

    /** Returns how many tasks of a subtopology a client gets through the pool. */
    int countPlaces(int g, int c) {
        return fromPool[g][c] < 0 ? 0 : (int) flow.flow(fromPool[g][c]);
    }

    /** Returns whether a task may get a client through the pool. */
    boolean mayPool(int t, int c) {
        return isPooled(t) && Arrays.binarySearch(choice.fixed()[t], c) < 0 && Arrays.binarySearch(columns[t], c) < 0;
    }

    /** Returns the cost of a task on a client in coarse steps, or {@link PairChoice#NEVER}. */
    long findCost(int t, int c) {
        boolean isColumn = Arrays.binarySearch(choice.columns()[t], c) >= 0;
        boolean isBarred = Arrays.binarySearch(choice.fixed()[t], c) >= 0 || (!isColumn && !choice.mayPool()[t]);
        return isBarred ? PairChoice.NEVER : choice.costs().of(t, c);
    }

    private boolean isPooled(int t) {
        return choice.mayPool()[t] && !isExplicit(t);
    }

    private boolean isExplicit(int t) {
        return isSmall && choice.columns()[t].length > 0;
    }

    private long cost(int t, int c) {
        return choice.costs().of(t, c);
    }

    /** Returns a client of a kind that is no column of a task; -1 if none, or if the task may not go there. */
    private int findOther(int t, int kind) {
        if (!isPooled(t)) {
            return -1;
        }
        for (int c : kinds.clients()[kind]) {
            if (Arrays.binarySearch(choice.columns()[t], c) < 0 && Arrays.binarySearch(choice.fixed()[t], c) < 0) {
                return c;
            }
        }
        return -1;
    }

    /** Finds the clients that cost less or more than the others of their kind. */
    private void findColumns(int t) {
        int g = snapshot.subtopology(t);
        columns[t] = NONE;
        toColumns[t] = NONE;
        for (int c : choice.fixed()[t]) {
            given[g][c]++;
        }
        if (choice.need()[t] == 0) {
            return;
        }
        boolean isAll = isExplicit(t) && choice.mayPool()[t];
        int[] some = isAll ? IntStream.range(0, clients).toArray() : choice.columns()[t];
        int[] found = new int[some.length];
        int count = 0;
        for (int c : some) {
            int other = findOther(t, kinds.of()[c]);
            boolean isLikeOther = other >= 0 && cost(t, c) == cost(t, other) && isTied(t, c) == isTied(t, other);
            if (!isLikeOther && findCost(t, c) < PairChoice.NEVER) {
                found[count++] = c;
                listed[g][c]++;
            }
        }
        columns[t] = Arrays.copyOf(found, count);
        for (int c = 0; c < clients && isPooled(t); c++) {
            takers[g][c]++;
        }
        for (int c : isPooled(t) ? Snapshot.and(choice.columns()[t], choice.fixed()[t]) : NONE) {
            takers[g][c] -= mayPool(t, c) ? 0 : 1;
        }
    }

    private boolean isTied(int t, int c) {
        return !values.matter
                && choice.costs().isTied(t, c)
                && choice.costs().countFree(t, choice.fixed()[t]) < choice.need()[t];
    }

    /** Returns a description equal for alike tasks: subtopology, need, fixed kinds, and costs beyond the least. */
    private List<Long> describe(int t) {
        if (columns[t].length > 0 || !isPooled(t) || findTied(t) >= 0) {
            return List.of((long) t);
        }
        List<Long> facts = new ArrayList<>(List.of((long) snapshot.subtopology(t), (long) choice.need()[t]));
        Arrays.stream(choice.fixed()[t]).map(c -> kinds.of()[c]).sorted().forEach(kind -> facts.add((long) kind));
        long[] costs = IntStream.range(0, kinds.count())
                .map(kind -> findOther(t, kind))
                .mapToLong(c -> c < 0 ? PairChoice.NEVER : cost(t, c))
                .toArray();
        long least = Arrays.stream(costs).min().orElse(0);
        Arrays.stream(costs).forEach(cost -> facts.add(cost - least));
        return facts;
    }

    /** Adds tasks that are alike: {@link #deal} tells their units apart. */
    private void addTasks(List<Integer> tasks) {
        int t = tasks.get(0);
        int g = snapshot.subtopology(t);
        int need = choice.need()[t];
        int node = flow.addNode((long) need * tasks.size());
        int gate = addGate(t, node);
        toColumns[t] = new int[columns[t].length];
        for (int i = 0; i < columns[t].length; i++) {
            int c = columns[t][i];
            int from = values.addPath(t, isTied(t, c) ? gate : node, c, 1);
            boolean isNew = Arrays.binarySearch(choice.columns()[t], c) < 0
                    && choice.costs().isAtOnce(t);
            long cost = cost(t, c) + (isNew ? choice.costs().crowding(c) : 0);
            toColumns[t][i] = flow.addArc(from, cell[g][c], 0, 1, Bounds.COSTS, cost);
        }
        int[] toPool = new int[kinds.count()];
        for (int i = 0; i < toPool.length; i++) {
            int kind = rotate(t, i);
            int other = findOther(t, kind);
            toPool[kind] = -1;
            if (other >= 0) {
                int from = values.addPath(t, isTied(t, other) ? gate : node, other, tasks.size());
                long most = (long) tasks.size() * Math.min(need, countFree(t, kind));
                toPool[kind] = flow.addArc(from, pool[g][kind], 0, most, Bounds.COSTS, cost(t, other));
            }
        }
        groups.add(new Alike(tasks, toPool));
    }

    /**
     * Returns the i-th kind for a task, counted from the one after the kind of its first fixed client and shifted by
     * the number of its subtopology. The first of equal arcs is filled first, so this spreads tasks over kinds.
     */
    private int rotate(int t, int i) {
        int[] fixed = choice.fixed()[t];
        int before = fixed.length > 0 ? kinds.of()[fixed[0]] : 0;
        return (before + 1 + snapshot.subtopology(t) + i) % kinds.count();
    }

    private int countFree(int t, int kind) {
        int free = kinds.clients()[kind].length;
        for (int c : choice.fixed()[t]) {
            free -= kinds.of()[c] == kind ? 1 : 0;
        }
        return free;
    }

    /** Deals the units of alike tasks in turn, by values of tags, so that a task rarely gets a value twice. */
    private void deal(Alike group, List<Integer> kindsInTurn) {
        group.tasks.forEach(t -> pooled[t] = new int[kinds.count()]);
        int next = 0;
        for (int kind : kindsInTurn) {
            long units = group.toPool[kind] < 0 ? 0 : flow.flow(group.toPool[kind]);
            for (; units > 0; units--) {
                pooled[group.tasks.get(next++ % group.tasks.size())][kind]++;
            }
        }
    }

    /** Adds a node for the units to tied clients; some pass free. @return the node, or the task's without ties */
    private int addGate(int t, int node) {
        int tied = findTied(t);
        if (tied < 0) {
            return node;
        }
        int gate = flow.addNode(0);
        flow.addArc(node, gate, 0, choice.costs().countFree(t, choice.fixed()[t]), 0);
        flow.addArc(
                node, gate, 0, choice.need()[t], Bounds.COSTS, choice.costs().beyond(t, tied));
        return gate;
    }

    /** Returns a tied client that the task may get, or -1 if there is none. */
    private int findTied(int t) {
        IntStream others = IntStream.range(0, kinds.count()).map(kind -> findOther(t, kind));
        return IntStream.concat(Arrays.stream(columns[t]), others)
                .filter(c -> c >= 0 && isTied(t, c))
                .findFirst()
                .orElse(-1);
    }

    private void addCells() {
        for (int g = 0; g < cell.length; g++) {
            // With tags, subtopologies begin with different clients, so that few tasks have to change their zone.
            int first = snapshot.tagCount() > 0 ? snapshot.firstTask(g) : 0;
            for (int i = 0; i < clients; i++) {
                int c = (first + i) % clients;
                if (listed[g][c] > 0 || takers[g][c] > 0) {
                    addCell(g, c);
                }
            }
        }
    }

    private void addCell(int g, int c) {
        long least = choice.cells()[g].low()[c] - given[g][c];
        long most = choice.cells()[g].high()[c] - given[g][c];
        int level = levels[inner[g]][c];
        int from = pool[g][kinds.of()[c]];
        if (listed[g][c] == 0 && !bounds.isSoft()) {
            fromPool[g][c] = flow.addArc(
                    from,
                    level,
                    Math.max(0, least),
                    Math.max(0, Math.max(least, Math.min(most, takers[g][c]))),
                    Bounds.COSTS,
                    choice.costs().crowding(c));
            return;
        }
        cell[g][c] = flow.addNode(0);
        bounds.add(cell[g][c], level, least, most, listed[g][c] + takers[g][c]);
        if (takers[g][c] > 0) {
            fromPool[g][c] = flow.addArc(
                    from,
                    cell[g][c],
                    0,
                    takers[g][c],
                    Bounds.COSTS,
                    choice.costs().crowding(c));
        }
    }

    private void addLevels() {
        long total = Arrays.stream(choice.need()).asLongStream().sum();
        int sink = flow.addNode(-total);
        for (int level = 0; level < levels.length; level++) {
            PairChoice.Level of = choice.levels().get(level);
            long[] held = new long[clients];
            for (int g = 0; g < given.length; g++) {
                for (int c = 0; c < clients && of.counts().test(g); c++) {
                    held[c] += given[g][c];
                }
            }
            for (int c = 0; c < clients; c++) {
                int next = level + 1 < levels.length ? levels[level + 1][c] : sink;
                bounds.add(
                        levels[level][c],
                        next,
                        of.bounds().low()[c] - held[c],
                        of.bounds().high()[c] - held[c],
                        total);
            }
        }
    }
}
