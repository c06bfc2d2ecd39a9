package io.github.optassign.measuring;

import java.util.Map;
import java.util.TreeMap;

/**
 * Between which counts of one kind of copies each client is balanced (KIP-441, "Defining balance", for clients of
 * unequal size): from the floor to the ceiling of its share. Shares are proportional to threads.
 *
 * <p>A client cannot have more than one copy of a task, so its share is at most the number of tasks. What that cuts off
 * is shared among the other clients in proportion, from the greatest client down.
 *
 * @param low per client the least balanced count
 * @param high per client the greatest balanced count
 */
public record Windows(long[] low, long[] high) {
    /** The windows for that many copies of each of that many tasks; copiesPerTask is at most the number of clients. */
    public static Windows of(long tasks, int copiesPerTask, int[] threads) {
        TreeMap<Integer, Integer> sizes = new TreeMap<>();
        long units = 0;
        for (int size : threads) {
            sizes.merge(size, 1, Integer::sum);
            units += size;
        }
        long total = tasks * copiesPerTask;
        Map<Integer, long[]> bySize = new TreeMap<>();
        for (Map.Entry<Integer, Integer> size : sizes.descendingMap().entrySet()) {
            long share = total * size.getKey();
            if (share >= tasks * units) {
                bySize.put(size.getKey(), new long[] {tasks, tasks});
                total -= tasks * size.getValue();
                units -= (long) size.getKey() * size.getValue();
            } else {
                bySize.put(size.getKey(), new long[] {share / units, (share + units - 1) / units});
            }
        }
        long[] low = new long[threads.length];
        long[] high = new long[threads.length];
        for (int c = 0; c < threads.length; c++) {
            low[c] = bySize.get(threads[c])[0];
            high[c] = bySize.get(threads[c])[1];
        }
        return new Windows(low, high);
    }

    /** How far counts are from their windows: e (e + 1) / 2 at distance e, summed over the clients. */
    public long excess(long[] counts) {
        long sum = 0;
        for (int c = 0; c < counts.length; c++) {
            sum += excess(c, counts[c]);
        }
        return sum;
    }

    /** By how much the excess rises if one more copy comes to a client; negative: it falls. */
    public long rise(long[] counts, int to) {
        return excess(to, counts[to] + 1) - excess(to, counts[to]);
    }

    private long excess(int c, long count) {
        long distance = Math.max(0, Math.max(low[c] - count, count - high[c]));
        return distance * (distance + 1) / 2;
    }
}
