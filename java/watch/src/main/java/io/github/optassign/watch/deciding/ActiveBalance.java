package io.github.optassign.watch.deciding;

import io.github.optassign.model.Shares;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** A comparison of active task counts with each process's fair share, as the planner computes it ({@link Shares}). */
final class ActiveBalance {
    /** The share of each process: the least and the greatest balanced count. */
    private final Map<String, long[]> shares = new TreeMap<>();

    private final Map<String, Long> counts = new TreeMap<>();

    /** A function that computes shares, such as {@link Shares#ofActives} and {@link Shares#of}. */
    private interface ShareFunction {
        Shares share(long tasks, long[] sizes, boolean[] draining);
    }

    private ActiveBalance(Map<String, Long> units, Collection<String> owners, ShareFunction function) {
        boolean areAllDraining = units.values().stream().allMatch(unit -> unit <= 0);
        String[] processes = units.keySet().stream().sorted().toArray(String[]::new);
        long[] sizes = new long[processes.length];
        boolean[] draining = new boolean[processes.length];
        for (int p = 0; p < processes.length; p++) {
            sizes[p] = Math.max(1, units.get(processes[p]));
            draining[p] = !areAllDraining && units.get(processes[p]) <= 0;
        }
        Shares found = function.share(owners.size(), sizes, draining);
        for (int p = 0; p < processes.length; p++) {
            shares.put(processes[p], new long[] {found.low()[p], found.high()[p]});
        }
        owners.forEach(owner -> counts.merge(owner, 1L, Long::sum));
    }

    /**
     * Compares all active tasks with their shares.
     *
     * @param units process → its capacity, as in {@link GroupView}; 0 or less if it drains
     * @param owners for each active task the process that runs it
     */
    static ActiveBalance ofAll(Map<String, Long> units, Collection<String> owners) {
        return new ActiveBalance(units, owners, Shares::ofActives);
    }

    /**
     * Compares stateful active tasks with their shares.
     *
     * @param units process → its capacity, as in {@link GroupView}; 0 or less if it drains
     * @param owners for each active stateful task the process that runs it
     */
    static ActiveBalance ofStateful(Map<String, Long> units, Collection<String> owners) {
        return new ActiveBalance(units, owners, (tasks, sizes, draining) -> Shares.of(tasks, 1, sizes, draining));
    }

    /** Returns the number of tasks above a process's share; negative if the process has room for more. */
    long above(String process) {
        return count(process) - share(process)[1];
    }

    /** Returns the number of tasks that a process lacks; negative if it can give tasks away. */
    long below(String process) {
        return share(process)[0] - count(process);
    }

    private long count(String process) {
        return counts.getOrDefault(process, 0L);
    }

    private long[] share(String process) {
        return shares.getOrDefault(process, new long[2]);
    }

    /** Returns whether every process's count is within its share. */
    boolean isBalanced() {
        return shares.keySet().stream().allMatch(process -> above(process) <= 0 && below(process) <= 0);
    }

    /** Returns whether moving a task between two processes brings their counts nearer to their shares. */
    boolean gains(String from, String to) {
        return above(from) > 0 && above(to) < 0 || below(to) > 0 && below(from) < 0;
    }
}
