package io.github.optassign.watch.deciding;

import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/**
 * Numbers of active tasks, compared with each process's share (docs/reference/rules.md, "Balanced"): shares are
 * proportional to threads × capacity, and a count is right between floor and ceiling of its share.
 */
final class Balance {
    /** Shares are quotients of doubles: a whole one may be off by a hair. */
    private static final double HAIR = 1e-9;

    private final Map<String, Double> units;
    private final Map<String, Integer> counts = new TreeMap<>();
    private final double unitsOfAll;
    private int total;

    /**
     * Counts.
     *
     * @param units as in {@link GroupView}
     * @param owners the process of each task that counts
     */
    Balance(Map<String, Double> units, Collection<String> owners) {
        boolean allDrain = units.values().stream().allMatch(each -> each <= 0);
        this.units = new TreeMap<>(units);
        if (allDrain) {
            this.units.replaceAll((process, none) -> 1.0);
        }
        unitsOfAll = this.units.values().stream().mapToDouble(each -> each).sum();
        for (String owner : owners) {
            counts.merge(owner, 1, Integer::sum);
            total++;
        }
    }

    private double share(String process) {
        return total * units.getOrDefault(process, 0.0) / unitsOfAll;
    }

    /** By how many tasks a process has too many; below 0: it has room for as many. */
    int above(String process) {
        return counts.getOrDefault(process, 0) - (int) Math.ceil(share(process) - HAIR);
    }

    /** By how many tasks a process has too few. */
    int below(String process) {
        return (int) Math.floor(share(process) + HAIR) - counts.getOrDefault(process, 0);
    }

    boolean isKept() {
        return units.keySet().stream().allMatch(process -> above(process) <= 0 && below(process) <= 0);
    }

    /** Whether the counts are nearer to their shares with one task less here and one more there. */
    boolean gains(String from, String to) {
        return above(from) > 0 && above(to) < 0 || below(to) > 0 && below(from) < 0;
    }
}
