package io.github.optassign.broker;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/**
 * A benchmark of the time on the coordinator's thread: {@code Speed ASSIGNOR TASKS PROCESSES THREADS CALLS}. Before
 * each call one process leaves or comes back, with random lags; cold is the first call of the JVM.
 */
public final class Speed {
    /** CPU time of the calling thread, since the clock would also measure other processes. */
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();

    private Speed() {}

    /**
     * Prints the thread's CPU time in milliseconds: of the first call, and the median, 99th percentile and maximum of
     * the second half of calls.
     */
    public static void main(String[] arguments) {
        TaskAssignor assignor =
                arguments[0].equals("optassign") ? new OptassignGroupAssignor() : new StickyTaskAssignor();
        int tasks = Integer.parseInt(arguments[1]);
        int processes = Integer.parseInt(arguments[2]);
        int threads = Integer.parseInt(arguments[3]);
        double[] ms = new double[Integer.parseInt(arguments[4])];
        long configuring = System.nanoTime();
        if (assignor instanceof OptassignGroupAssignor ours) {
            ours.configure(Map.of());
        }
        long configuredNanos = System.nanoTime() - configuring;
        BrokerTestGroup group = new BrokerTestGroup(1).logged("0", tasks / 2).logged("1", tasks - tasks / 2);
        Random random = new Random(1);
        for (int c = 0; c < processes; c++) {
            group.process("process-" + c, threads);
        }
        for (int i = 0; i < ms.length; i++) {
            String process = "process-" + random.nextInt(processes);
            if (i % 2 == 1) {
                group.remove(process);
            } else if (group.member(process + "0") == null) {
                group.process(process, threads);
            }
            GroupSpec spec = group.toSpec();
            long start = CPU.getCurrentThreadCpuTime();
            assignor.assign(spec, group);
            ms[i] = (CPU.getCurrentThreadCpuTime() - start) / 1e6;
            group.assign(assignor);
            group.reportOffsets(1_000_000, random.nextInt(30_000));
        }
        double first = ms[0];
        double[] later = Arrays.copyOfRange(ms, ms.length / 2, ms.length);
        Arrays.sort(later);
        System.out.printf(
                Locale.ROOT,
                "%s tasks=%d processes=%d threads=%d configured_ms=%.0f cold_ms=%.1f median_ms=%.1f p99_ms=%.1f most_ms=%.1f%n",
                assignor.name(),
                tasks,
                processes,
                threads,
                configuredNanos / 1e6,
                first,
                later[later.length / 2],
                later[(int) (later.length * 0.99)],
                later[later.length - 1]);
    }
}
