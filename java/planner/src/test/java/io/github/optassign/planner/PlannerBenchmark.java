package io.github.optassign.planner;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.testing.TestGroup;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/**
 * A benchmark of the planner in its slowest cases: many clients and many subtopologies. Arguments: tasks, clients,
 * subtopologies, calls (default 10000 1000 100 12), number of the case (default: all, in one process). Prints processor
 * time in milliseconds: of the first call, and the median and maximum of the others.
 */
final class PlannerBenchmark {
    private static final long NOON = 1_767_268_800_000L;

    private PlannerBenchmark() {}

    /** Runs the benchmark. */
    public static void main(String[] args) {
        int tasks = number(args, 0, 10_000);
        int clients = number(args, 1, 1_000);
        int subtopologies = number(args, 2, 100);
        int calls = number(args, 3, 12);
        Map<String, TestGroup> groups = new LinkedHashMap<>();
        groups.put("first start", group(tasks, clients, subtopologies, 0));
        groups.put("a quarter joins", group(tasks, clients, subtopologies, clients * 3 / 4));
        groups.put("all but one join", group(tasks, clients, subtopologies, 1));
        TestGroup zones = group(tasks, clients, subtopologies, 0);
        zones.rackTags = List.of("zone");
        for (int c = 0; c < clients; c++) {
            zones.client(c).tags = Map.of("zone", "z" + c % 3);
        }
        groups.put("first start, three zones", zones);
        int only = number(args, 4, 0);
        int at = 0;
        for (Map.Entry<String, TestGroup> entry : groups.entrySet()) {
            at++;
            if (only == 0 || only == at) {
                measure(entry.getKey(), entry.getValue(), calls);
            }
        }
    }

    private static void measure(String name, TestGroup group, int calls) {
        List<Double> alone = new ArrayList<>();
        List<Double> remembered = new ArrayList<>();
        Snapshot snapshot = group.snapshot(); // takes longer than all calls
        for (int call = 0; call < calls; call++) {
            long start = cpuTime();
            RebalancePlanner.Result result =
                    RebalancePlanner.answer(snapshot, null, RackTraffic.NONE, new Timing(NOON, false));
            alone.add((cpuTime() - start) / 1e6);
            AppliedAnswer applied = AppliedAnswer.of("{}", 1, RebalancePlanner.toAnswer(snapshot, result), snapshot);
            start = cpuTime();
            RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, new Timing(NOON + 60_000, false));
            remembered.add((cpuTime() - start) / 1e6);
        }
        System.out.printf(
                Locale.ROOT,
                "%s: first %.0f ms, others %s, with a remembered plan %s%n",
                name,
                alone.get(0),
                describe(alone.subList(1, calls)),
                describe(remembered.subList(1, calls)));
    }

    private static String describe(List<Double> ms) {
        List<Double> sorted = ms.stream().sorted().toList();
        return String.format(
                Locale.ROOT, "%.0f (up to %.0f)", sorted.get(sorted.size() / 2), sorted.get(sorted.size() - 1));
    }

    /** Returns the processor time of this thread, ns, which other programs hardly affect. */
    private static long cpuTime() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static int number(String[] args, int at, int otherwise) {
        return args.length > at ? Integer.parseInt(args[at]) : otherwise;
    }

    /** Returns a group whose first {@code old} clients have all tasks and their standbys; the others are new. */
    private static TestGroup group(int tasks, int clients, int subtopologies, int old) {
        Random random = new Random(1);
        TestGroup group = TestGroup.of(clients);
        group.standbys = 1;
        for (int g = 0; g < subtopologies; g++) {
            group.tasks(g, tasks / subtopologies, TestGroup.Kind.LOGGED, 1_000_000 + random.nextInt(1_000));
        }
        for (String task : group.tasks.keySet()) {
            if (old > 0) {
                int owner = random.nextInt(old);
                group.runs(owner, task);
                if (old > 1) {
                    group.holds((owner + 1) % old, task, random.nextInt(10_000));
                }
            }
        }
        return group;
    }
}
