package io.github.optassign.testapp;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * A process of the tests' application: {@code TestApplication PROPERTIES_FILE}.
 *
 * <p>Commands, one per line on standard input: {@code status} prints tasks, lags, restored records and the expected
 * time to the target; {@code rebalance} asks the group for a rebalance; {@code stop} closes as Kafka Streams does by
 * default, without leaving the group; {@code leave} closes and leaves it. At the end of the input the process halts, so
 * that it does not outlive its parent. Events: see {@link Events}.
 */
public final class TestApplication {
    /** The key that gives the store of kind {@code unlogged} a changelog too. */
    private static final String LOG_ALL = "test.log.all";

    /** The key of the kinds of subtopologies, separated by commas. */
    private static final String KINDS = "test.kinds";

    /** The key of the additional processor time per restored record, ns. */
    private static final String RESTORE_WORK = "test.restore.work.ns";

    /** The prefix of the plug-in's MBean names. */
    private static final String METRICS = "optassign:type=assignor-metrics,application-id=";

    private static final String TIME_TO_TARGET = "time-to-target-ms";

    private final String application;
    private final KafkaStreams streams;
    private final ObservedConsumers consumers;
    private final RestoredRecords restored;

    private TestApplication(Properties properties) {
        application = properties.getProperty(StreamsConfig.APPLICATION_ID_CONFIG);
        Topology topology = CountingTopology.build(
                application,
                List.of(properties
                        .getProperty(KINDS, "logged,unlogged,stateless")
                        .split(",")),
                Boolean.parseBoolean(properties.getProperty(LOG_ALL, "false")));
        restored = new RestoredRecords(Long.parseLong(properties.getProperty(RESTORE_WORK, "0")));
        consumers = new ObservedConsumers(CountingTopology.numberSubtopologies(topology));
        streams = new KafkaStreams(topology, properties, consumers);
        streams.setStateListener((now, before) -> Events.print("state", Map.of("state", now.name())));
        streams.setGlobalStateRestoreListener(restored);
        streams.setStandbyUpdateListener(restored);
        streams.setUncaughtExceptionHandler(exception -> {
            Events.print(
                    "death",
                    Map.of(
                            "exception",
                            exception.toString(),
                            "thread",
                            Thread.currentThread().getName()));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    }

    /** Runs the application until a command stops it. */
    public static void main(String[] arguments) throws IOException {
        Properties properties = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            properties.load(reader);
        }
        var application = new TestApplication(properties);
        application.streams.start();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = input.readLine(); command != null; command = input.readLine()) {
            if (!application.execute(command)) {
                return;
            }
        }
        Runtime.getRuntime().halt(1);
    }

    /**
     * Executes a command.
     *
     * @return whether the application keeps running
     */
    private boolean execute(String command) {
        switch (command) {
            case "status" -> Events.print("status", status());
            case "rebalance" -> consumers.rebalance();
            case "stop" -> streams.close();
            case "leave" -> streams.close(CloseOptions.groupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP));
            default -> throw new IllegalArgumentException(command + ": status, rebalance, stop and leave are known");
        }
        return !command.equals("stop") && !command.equals("leave");
    }

    private Map<String, Object> status() {
        Collection<ThreadMetadata> threads = streams.metadataForLocalThreads();
        return Map.of(
                "state", streams.state().name(),
                "threads",
                        threads.stream()
                                .map(ThreadMetadata::threadState)
                                .sorted()
                                .toList(),
                "active", toIds(threads.stream().map(ThreadMetadata::activeTasks)),
                "standby", toIds(threads.stream().map(ThreadMetadata::standbyTasks)),
                "lags", lags(),
                "restored_active", restored.active(),
                "restored_standby", restored.standby(),
                "time_to_target_ms", readTimeToTarget());
    }

    /**
     * Reads the plug-in's metric of the expected time until the target assignment is reached.
     *
     * @return the time, ms; -1 if unknown, or if the plug-in has led no rebalance in this process
     */
    private long readTimeToTarget() {
        try {
            var value = ManagementFactory.getPlatformMBeanServer()
                    .getAttribute(new ObjectName(METRICS + application), TIME_TO_TARGET);
            return ((Number) value).longValue();
        } catch (JMException e) {
            return -1;
        }
    }

    private static List<String> toIds(Stream<? extends Collection<TaskMetadata>> tasks) {
        return tasks.flatMap(Collection::stream)
                .map(TaskMetadata::taskId)
                .sorted()
                .map(Object::toString)
                .toList();
    }

    /** Returns the offsets that each local copy, active or not, has still to read, by store and partition. */
    private Map<String, Long> lags() {
        Map<String, Long> lags = new TreeMap<>();
        streams.allLocalStorePartitionLags()
                .forEach((store, partitions) ->
                        partitions.forEach((partition, lag) -> lags.put(store + "/" + partition, lag.offsetLag())));
        return lags;
    }
}
