package io.github.optassign.planner;

import io.github.optassign.planner.Convergence.Mode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A benchmark of convergence: runs random groups until they settle, and prints sums over the groups as a table.
 * Argument: number of groups (default 5000).
 */
final class ConvergenceBenchmark {
    private ConvergenceBenchmark() {}

    /** Runs the benchmark. */
    public static void main(String[] args) {
        int groups = args.length > 0 ? Integer.parseInt(args[0]) : 5_000;
        Map<String, Mode> modes = new LinkedHashMap<>();
        modes.put("remembered, restored at once", new Mode(true, false, false, false, 0));
        modes.put("remembered, restored slowly", new Mode(true, true, true, false, 0));
        modes.put("remembered, slowly, in two passes", new Mode(true, true, true, true, 0));
        modes.put("remembered, slowly, in two passes, lags grow", new Mode(true, true, true, true, 0.02));
        modes.put("not remembered, restored at once", new Mode(false, false, false, false, 0));
        modes.put("not remembered, at once, state kept", new Mode(false, true, false, false, 0));
        modes.put("not remembered, slowly, lags grow", new Mode(false, true, true, false, 0.02));
        System.out.println("| " + groups + " random groups | rebalances | moves | of the first plan | moved twice "
                + "| restored | unsettled | not at rest |");
        System.out.println("|---|---|---|---|---|---|---|---|");
        modes.forEach((name, mode) -> System.out.println("| " + name + " | " + play(groups, mode) + " |"));
    }

    private static String play(int groups, Mode mode) {
        long[] sums = new long[7];
        for (int seed = 0; seed < groups; seed++) {
            Convergence played = new Convergence(seed, mode);
            sums[0] += played.rebalances();
            sums[1] += played.moves();
            sums[2] += played.neededMoves();
            sums[3] += played.movedTwice();
            sums[4] += played.restored();
            sums[5] += played.isSettled() ? 0 : 1;
            boolean rests = played.answerOnceMore()
                    .placement()
                    .hasSameCopies(played.last().placement());
            sums[6] += played.isSettled() && !rests ? 1 : 0;
        }
        StringBuilder row = new StringBuilder();
        for (int i = 0; i < sums.length; i++) {
            row.append(i == 0 ? "" : " | ").append(sums[i]);
        }
        return row.toString();
    }
}
