package io.github.optassign.offload;

import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * Takes active tasks from clients that have too many to clients that have room, by the cheapest ways first. Each way is
 * a chain of tasks that go from one client to the next: successive shortest paths of a min-cost flow, many of one
 * length at once (Dinic). The search is bounded, by number and not by time.
 */
final class OffloadFlow {

    private static final long FAR = 1L << 61;

    private final OffloadOptions options;
    private final int clients;
    /** Per task its client; changed. */
    private final int[] active;
    /** Per client how many active tasks it may have more; below 0: it has too many. */
    private final long[] room;
    /** Per client the tasks on it that have options, and how many these are. */
    private final int[][] tasks;

    private final int[] taskCount;
    /** Per client, and last of the pool that stands for any client: what the cheapest way to it costs. */
    private final long[] distance;
    /** Per client which of its tasks is to be looked at next. */
    private final int[] next;
    /** Clients that are on the way, or from which there is none. */
    private final boolean[] isClosed;

    private boolean isPoolClosed;
    private long looks;

    OffloadFlow(OffloadOptions options, int[] active, long[] room) {
        this.options = options;
        this.active = active;
        this.room = room;
        clients = room.length;
        tasks = new int[clients][4];
        taskCount = new int[clients];
        distance = new long[clients + 1];
        next = new int[clients];
        isClosed = new boolean[clients];
        for (int t = 0; t < active.length; t++) {
            if (options.isPooled(t) || options.clients(t).length > 0) {
                add(t, active[t]);
            }
        }
    }

    /** Offloads while that costs less than a limit for each task too many. */
    void run(long limit) {
        long shortest = measureDistances();
        while (shortest < limit && looks < GreedyPolicy.OFFLOAD_LOOKS && take(shortest)) {
            shortest = measureDistances();
        }
    }

    private void add(int t, int c) {
        if (taskCount[c] == tasks[c].length) {
            tasks[c] = Arrays.copyOf(tasks[c], 2 * taskCount[c]);
        }
        tasks[c][taskCount[c]++] = t;
    }

    /** Measures the ways from clients that have too many (Bellman and Ford); returns the one to the nearest room. */
    private long measureDistances() {
        Arrays.fill(distance, FAR);
        boolean[] isWaiting = new boolean[clients + 1];
        ArrayDeque<Integer> waiting = new ArrayDeque<>();
        for (int c = 0; c < clients; c++) {
            if (room[c] < 0) {
                distance[c] = 0;
                waiting.add(c);
                isWaiting[c] = true;
            }
        }
        while (!waiting.isEmpty() && looks < GreedyPolicy.OFFLOAD_LOOKS) {
            int node = waiting.poll();
            isWaiting[node] = false;
            if (node == clients) {
                for (int c = 0; c < clients; c++) {
                    look(c, distance[node], isWaiting, waiting);
                }
                continue;
            }
            for (int i = 0; i < taskCount[node]; i++) {
                int t = tasks[node][i];
                long without = distance[node] - options.weigh(t, node);
                for (int c : options.clients(t)) {
                    look(c, without + options.weigh(t, c), isWaiting, waiting);
                }
                if (options.isPooled(t)) {
                    look(clients, without + options.weighPool(t), isWaiting, waiting);
                }
            }
        }
        long shortest = FAR;
        for (int c = 0; c < clients; c++) {
            shortest = room[c] > 0 ? Math.min(shortest, distance[c]) : shortest;
        }
        return shortest;
    }

    private void look(int node, long far, boolean[] isWaiting, ArrayDeque<Integer> waiting) {
        looks++;
        if (far < distance[node]) {
            distance[node] = far;
            if (!isWaiting[node]) {
                isWaiting[node] = true;
                waiting.add(node);
            }
        }
    }

    /** Takes ways of the shortest length until there is hardly any left; false: there was none. */
    private boolean take(long shortest) {
        Arrays.fill(next, 0);
        Arrays.fill(isClosed, false);
        isPoolClosed = false;
        boolean any = false;
        for (int c = 0; c < clients; c++) {
            while (room[c] < 0 && !isClosed[c] && push(c, shortest, 0)) {
                room[c]++;
                any = true;
            }
        }
        return any;
    }

    /** Has a client hand over a task on a shortest way to a client with room; false: it cannot. */
    private boolean push(int from, long shortest, int steps) {
        isClosed[from] = true;
        for (; next[from] < taskCount[from] && steps < GreedyPolicy.LONGEST_CHAIN; next[from]++) {
            int t = tasks[from][next[from]];
            int to = findTaker(t, from, shortest, steps);
            if (to >= 0) {
                tasks[from][next[from]] = tasks[from][--taskCount[from]];
                add(t, to);
                active[t] = to;
                isClosed[from] = false;
                return true;
            }
        }
        return false;
    }

    /** Finds the taker of a task, with room for it by then; -1: none. */
    private int findTaker(int t, int from, long shortest, int steps) {
        long without = distance[from] - options.weigh(t, from);
        for (int c : options.clients(t)) {
            if (c != from && distance[c] == without + options.weigh(t, c) && makeRoom(c, shortest, steps)) {
                return c;
            }
        }
        boolean mayPool = options.isPooled(t) && !isPoolClosed && distance[clients] == without + options.weighPool(t);
        return mayPool ? findTakerOfPool(from, shortest, steps) : -1;
    }

    /**
     * Among the clients that the pool leads to, the one with most room; otherwise one that hands over a task itself.
     */
    private int findTakerOfPool(int from, long shortest, int steps) {
        looks += clients;
        int most = -1;
        for (int c = 0; c < clients; c++) {
            boolean isNearest = distance[c] == distance[clients] && distance[c] == shortest && room[c] > 0;
            most = isNearest && (most < 0 || room[c] > room[most]) ? c : most;
        }
        if (most >= 0) {
            room[most]--;
            return most;
        }
        for (int c = 0; c < clients; c++) {
            if (c != from && distance[c] == distance[clients] && makeRoom(c, shortest, steps)) {
                return c;
            }
        }
        isPoolClosed = true;
        return -1;
    }

    private boolean makeRoom(int c, long shortest, int steps) {
        if (room[c] > 0 && distance[c] == shortest) {
            room[c]--;
            return true;
        }
        return !isClosed[c] && push(c, shortest, steps + 1);
    }
}
