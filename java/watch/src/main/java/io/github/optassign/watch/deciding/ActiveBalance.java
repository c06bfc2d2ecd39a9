package io.github.optassign.watch.deciding;

import io.github.optassign.model.Shares;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** Numbers of active tasks, compared with each process's share as the planner computes it ({@link Shares}). */
final class ActiveBalance {
    /** Process to its share: the least and the greatest balanced count. */
    private final Map<String, long[]> shares = new TreeMap<>();

    private final Map<String, Long> counts = new TreeMap<>();

    /** Computes shares, as {@link Shares#ofActives} and {@link Shares#of} do. */
    private interface Sharing {
        Shares share(long tasks, long[] sizes, boolean[] draining);
    }

    private ActiveBalance(Map<String, Long> units, Collection<String> owners, Sharing sharing) {
        boolean doAllDrain = units.values().stream().allMatch(each -> each <= 0);
        String[] processes = units.keySet().stream().sorted().toArray(String[]::new);
        long[] sizes = new long[processes.length];
        boolean[] draining = new boolean[processes.length];
        for (int p = 0; p < processes.length; p++) {
            sizes[p] = Math.max(1, units.get(processes[p]));
            draining[p] = !doAllDrain && units.get(processes[p]) <= 0;
        }
        Shares found = sharing.share(owners.size(), sizes, draining);
        for (int p = 0; p < processes.length; p++) {
            shares.put(processes[p], new long[] {found.low()[p], found.high()[p]});
        }
        owners.forEach(owner -> counts.merge(owner, 1L, Long::sum));
    }

    /**
     * Compares all active tasks with their shares.
     *
     * @param units as in {@link GroupView}
     * @param owners the process of each task
     */
    static ActiveBalance ofAll(Map<String, Long> units, Collection<String> owners) {
        return new ActiveBalance(units, owners, Shares::ofActives);
    }

    /** Compares the stateful active tasks alone with theirs. */
    static ActiveBalance ofStateful(Map<String, Long> units, Collection<String> owners) {
        return new ActiveBalance(units, owners, (tasks, sizes, draining) -> Shares.of(tasks, 1, sizes, draining));
    }

    /** By how many tasks a process has too many; below 0: it has room for as many. */
    long above(String process) {
        return count(process) - share(process)[1];
    }

    /** By how many tasks a process has too few. */
    long below(String process) {
        return share(process)[0] - count(process);
    }

    private long count(String process) {
        return counts.getOrDefault(process, 0L);
    }

    private long[] share(String process) {
        return shares.getOrDefault(process, new long[2]);
    }

    boolean isKept() {
        return shares.keySet().stream().allMatch(process -> above(process) <= 0 && below(process) <= 0);
    }

    /** Whether the counts are nearer to their shares with one task less here and one more there. */
    boolean gains(String from, String to) {
        return above(from) > 0 && above(to) < 0 || below(to) > 0 && below(from) < 0;
    }
}
