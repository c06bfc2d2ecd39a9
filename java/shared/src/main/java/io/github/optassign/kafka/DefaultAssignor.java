package io.github.optassign.kafka;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.FallbackPriorTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.LegacyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * Runs HighAvailabilityTaskAssignor, Kafka Streams' default (KIP-441), as StreamsPartitionAssignor does. One object is
 * for one call of {@link #assign}.
 */
public final class DefaultAssignor {
    /**
     * A client as Kafka describes it.
     *
     * @param previousActive existing tasks that it lists as active
     * @param previousStandby existing tasks that it has a directory of otherwise
     * @param lags of every logged task, offsets, −2 or −3; a tree, as in Kafka's ClientState, is as fast as Kafka
     */
    public record Client(
            int threads,
            SortedSet<TaskId> previousActive,
            SortedSet<TaskId> previousStandby,
            Map<TaskId, Long> lags,
            Map<String, String> tags,
            Optional<String> rack) {}

    /**
     * A partition that a task reads or writes.
     *
     * @param racks those of its replicas; empty: not known
     */
    public record Partition(TopicPartition name, boolean source, boolean changelog, Collection<String> racks) {}

    /**
     * A client's copies.
     *
     * @param standby without warm-ups, which are standbys to Kafka
     * @param plannedActive its actives once no copy lags; plannedStandby has its standbys
     */
    public record Copies(
            SortedSet<TaskId> active,
            SortedSet<TaskId> standby,
            SortedSet<TaskId> warmup,
            SortedSet<TaskId> plannedActive,
            SortedSet<TaskId> plannedStandby) {}

    private final LegacyTaskAssignor assignor;
    private final AssignmentConfigs configs;
    private final Map<ProcessId, RecordedClientState> states = new HashMap<>();
    private final Map<ProcessId, ClientState> given;
    private final Set<TaskId> tasks;
    private final Set<TaskId> logged;
    private final RackAwareTaskAssignor racks;

    private DefaultAssignor(
            LegacyTaskAssignor assignor,
            AssignmentConfigs configs,
            Map<ProcessId, Client> clients,
            Map<TaskId, ? extends Collection<Partition>> tasks,
            Set<TaskId> logged) {
        this.assignor = assignor;
        this.configs = configs;
        this.tasks = new HashSet<>(tasks.keySet());
        this.logged = new HashSet<>(logged);
        RecordedClientState.Recording recording = new RecordedClientState.Recording();
        clients.forEach((id, client) -> states.put(id, new RecordedClientState(recording, id, client)));
        given = new HashMap<>(states);
        racks = RackAwareness.createAssignor(configs, clients, tasks, logged);
    }

    /**
     * Prepares the call of HighAvailabilityTaskAssignor.
     *
     * @param tasks all tasks, with their partitions where racks matter
     * @param logged those with a changelog, which Kafka calls stateful
     */
    public static DefaultAssignor highAvailability(
            AssignmentConfigs configs,
            Map<ProcessId, Client> clients,
            Map<TaskId, ? extends Collection<Partition>> tasks,
            Set<TaskId> logged) {
        return new DefaultAssignor(new HighAvailabilityTaskAssignor(), configs, clients, tasks, logged);
    }

    /**
     * Prepares the call that StreamsPartitionAssignor would make: where Kafka could not find out any end offset, it asks
     * FallbackPriorTaskAssignor, which leaves tasks where they are.
     *
     * @param tasks all tasks, with their partitions where racks matter
     * @param logged those with a changelog, which Kafka calls stateful
     */
    public static DefaultAssignor choose(
            AssignmentConfigs configs,
            Map<ProcessId, Client> clients,
            Map<TaskId, ? extends Collection<Partition>> tasks,
            Set<TaskId> logged) {
        LegacyTaskAssignor chosen =
                hasLags(clients) ? new HighAvailabilityTaskAssignor() : new FallbackPriorTaskAssignor();
        return new DefaultAssignor(chosen, configs, clients, tasks, logged);
    }

    /** Whether Kafka knew end offsets: without any, all lags are −3 but those of running actives, which are −2. */
    private static boolean hasLags(Map<ProcessId, Client> clients) {
        TreeSet<Long> lags = new TreeSet<>();
        clients.values().forEach(client -> lags.addAll(client.lags().values()));
        return lags.isEmpty() || lags.last() >= 0 || lags.first() > -3;
    }

    /**
     * Calls Kafka's classes for a group of one client and one task, with racks.
     *
     * @throws LinkageError or a RuntimeException, if they are of another version than this was built for
     */
    public static void checkReachable() {
        AssignmentConfigs configs = new AssignmentConfigs(
                0, 1, 0, 60_000, List.of(), OptionalInt.empty(), OptionalInt.empty(), "min_traffic");
        TaskId task = new TaskId(0, 0);
        SortedSet<TaskId> none = new TreeSet<>();
        Client client = new Client(1, none, none, Map.of(task, 0L), Map.of(), Optional.of("rack"));
        ProcessId id = new ProcessId(new UUID(0, 0));
        Partition partition = new Partition(new TopicPartition("topic", 0), true, false, Set.of("rack"));
        DefaultAssignor assignor =
                choose(configs, Map.of(id, client), Map.of(task, List.of(partition)), Set.of(task));
        boolean followup = assignor.assign();
        if (followup || !assignor.copies().get(id).active().contains(task)) {
            throw new IllegalStateException("found another answer than Kafka's to one client and one task");
        }
    }

    /** Asks Kafka's class, and nothing more. Returns whether it wants a follow-up. */
    public boolean assign() {
        return assignor.assign(given, tasks, logged, racks, configs);
    }

    /** The copies of each client, once {@link #assign} is done. */
    public Map<ProcessId, Copies> copies() {
        Map<ProcessId, Copies> copies = new TreeMap<>();
        states.forEach((id, state) -> {
            SortedSet<TaskId> warmup = state.warmups();
            SortedSet<TaskId> standby = new TreeSet<>(state.standbyTasks());
            standby.removeAll(warmup);
            SortedSet<TaskId> active = new TreeSet<>(state.activeTasks());
            copies.put(id, new Copies(active, standby, warmup, state.plannedActive(logged), state.plannedStandby()));
        });
        return copies;
    }
}
