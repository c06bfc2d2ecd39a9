package io.github.optassign.model;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The bounds between which each client's count of one kind of copies is balanced (KIP-441, "Defining balance", for
 * clients of unequal size). They are the floor and the ceiling of the client's share, which is proportional to its
 * threads times capacity. For all actives only the counts nearest to the shares are allowed.
 *
 * <p>A client has at most one copy of a task, so its share is at most the number of tasks. The surplus is divided among
 * the other clients in proportion, from the greatest client down. Draining clients get only copies for which the others
 * have no room.
 *
 * @param low the lower bound of each client
 * @param high the upper bound of each client
 */
public record Shares(long[] low, long[] high) {
    /** Returns the shares of the copies of {@code tasks} tasks; no task has more copies than there are clients. */
    public static Shares of(long tasks, int copiesPerTask, Snapshot snapshot) {
        return of(tasks, copiesPerTask, snapshot.sizes(), snapshot.draining());
    }

    /** Returns the shares for each of the numbers of tasks, such as those of subtopologies. */
    public static Shares[] ofEach(long[] tasks, int copiesPerTask, Snapshot snapshot) {
        Map<Long, Shares> found = new HashMap<>();
        return Arrays.stream(tasks)
                .mapToObj(each -> found.computeIfAbsent(each, number -> of(number, copiesPerTask, snapshot)))
                .toArray(Shares[]::new);
    }

    /**
     * Returns the shares for all actives. Only the counts between floor and ceiling that are nearest to the exact
     * shares are allowed (docs/reference/rules.md, "Bounds of a share"). Otherwise one of two nearly equal clients
     * could have all tasks of both.
     */
    public static Shares ofActives(Snapshot snapshot) {
        return ofActives(snapshot.taskCount(), snapshot.sizes(), snapshot.draining());
    }

    /** Returns the shares of all actives for clients of these sizes. */
    public static Shares ofActives(long tasks, long[] sizes, boolean[] draining) {
        return of(tasks, 1, sizes, draining).toNearest(tasks, sizes, draining);
    }

    /**
     * Narrows the bounds, in place, to the nearest counts: the greatest fractions are rounded up and the least down.
     * Equal fractions may be rounded either way if some, but not all, are rounded up.
     */
    private Shares toNearest(long tasks, long[] sizes, boolean[] draining) {
        BigInteger units = BigInteger.ZERO;
        long left = tasks;
        for (int c = 0; c < sizes.length; c++) {
            units = draining[c] ? units : units.add(BigInteger.valueOf(sizes[c]));
            left -= low[c];
        }
        TreeMap<BigInteger, List<Integer>> byFraction = new TreeMap<>();
        for (int c = 0; c < sizes.length; c++) {
            if (low[c] < high[c]) {
                BigInteger fraction = BigInteger.valueOf(tasks)
                        .multiply(BigInteger.valueOf(sizes[c]))
                        .mod(units);
                byFraction.computeIfAbsent(fraction, none -> new ArrayList<>()).add(c);
            }
        }
        for (List<Integer> alike : byFraction.descendingMap().values()) {
            boolean isRoundedUp = alike.size() <= left;
            for (int c : alike) {
                low[c] = isRoundedUp ? high[c] : low[c];
                high[c] = isRoundedUp || left > 0 ? high[c] : low[c];
            }
            left = Math.max(0, left - alike.size());
        }
        return this;
    }

    /** Returns the shares of the copies of {@code tasks} tasks for clients of these sizes. */
    public static Shares of(long tasks, int copiesPerTask, long[] sizes, boolean[] draining) {
        Map<Boolean, List<Integer>> byDraining = IntStream.range(0, sizes.length)
                .boxed()
                .sorted(Comparator.comparingLong(c -> -sizes[c]))
                .collect(Collectors.partitioningBy(c -> draining[c]));
        long total = tasks * copiesPerTask;
        long held = Math.min(total, tasks * byDraining.get(false).size());
        Shares shares = new Shares(new long[sizes.length], new long[sizes.length]);
        shares.divide(held, tasks, byDraining.get(false), sizes);
        shares.divide(total - held, tasks, byDraining.get(true), sizes);
        return shares;
    }

    /** Divides {@code sum} copies of {@code tasks} tasks among these clients, sorted by falling size. */
    private void divide(long sum, long tasks, List<Integer> clients, long[] sizes) {
        BigInteger units = BigInteger.ZERO; // products may have more than 64 bits
        for (int c : clients) {
            units = units.add(BigInteger.valueOf(sizes[c]));
        }
        long left = sum;
        for (int c : clients) {
            BigInteger size = BigInteger.valueOf(sizes[c]);
            BigInteger product = BigInteger.valueOf(left).multiply(size);
            if (product.compareTo(units.multiply(BigInteger.valueOf(tasks))) >= 0) {
                low[c] = tasks;
                high[c] = tasks;
                left -= tasks;
                units = units.subtract(size);
            } else {
                BigInteger[] parts = product.divideAndRemainder(units);
                low[c] = parts[0].longValueExact();
                high[c] = low[c] + parts[1].signum();
            }
        }
    }

    /** Returns the imbalance of counts: the sum of e (e + 1) / 2 over clients at distance e outside their bounds. */
    public long imbalance(long[] counts) {
        long sum = 0;
        for (int c = 0; c < counts.length; c++) {
            long distance = Math.max(0, Math.max(low[c] - counts[c], counts[c] - high[c]));
            sum += distance * (distance + 1) / 2;
        }
        return sum;
    }
}
