package io.github.optassign;

import io.github.optassign.testing.StreamsTestGroup;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;

/**
 * A benchmark of {@code assign} without a service, from Kafka's objects to Kafka's objects. Tasks have a changelog and
 * one standby; they run on three quarters of the clients when the others join. Arguments: tasks, clients,
 * subtopologies, calls (default 2000 200 20 20). Prints the thread's processor time in milliseconds: of the first call
 * in this JVM, and the median and maximum of the second half of calls.
 */
final class AssignBenchmark {
    private AssignBenchmark() {}

    /** Runs the benchmark. */
    public static void main(String[] args) {
        int tasks = number(args, 0, 2_000);
        int clients = number(args, 1, 200);
        int subtopologies = number(args, 2, 20);
        double[] ms = new double[number(args, 3, 20)];
        ApplicationState state = group(tasks, clients, subtopologies).state();
        ManagementFactory.getPlatformMBeanServer(); // as every Kafka client does at its start
        for (int call = 0; call < ms.length; call++) {
            long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            // A new application each time, without memory.
            assignor.configure(Map.of("application.id", "application-" + call));
            assignor.assign(state);
            assignor.onAssignmentComputed(null, null, AssignmentError.NONE);
            ms[call] = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e6;
        }
        double[] later = Arrays.copyOfRange(ms, ms.length / 2, ms.length);
        Arrays.sort(later);
        System.out.printf(
                Locale.ROOT,
                "tasks=%d clients=%d subtopologies=%d first_ms=%.0f median_ms=%.0f most_ms=%.0f%n",
                tasks,
                clients,
                subtopologies,
                ms[0],
                later[later.length / 2],
                later[later.length - 1]);
    }

    private static int number(String[] args, int at, int defaultValue) {
        return args.length > at ? Integer.parseInt(args[at]) : defaultValue;
    }

    /** Returns a group in which a quarter of the clients has just joined. */
    static StreamsTestGroup group(int tasks, int clients, int subtopologies) {
        Random random = new Random(1);
        int old = Math.max(2, clients * 3 / 4);
        StreamsTestGroup group = StreamsTestGroup.of(clients);
        group.standbys = 1;
        for (int g = 0; g < subtopologies; g++) {
            group.tasks(g, tasks / subtopologies, StreamsTestGroup.Kind.LOGGED, 1_000_000 + random.nextInt(1_000));
        }
        for (String task : group.tasks.keySet()) {
            int owner = random.nextInt(old);
            group.runs(owner, task).holds((owner + 1) % old, task, random.nextInt(10_000));
        }
        return group;
    }
}
