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
 * Kafka Streams' default, HighAvailabilityTaskAssignor (KIP-441), called as StreamsPartitionAssignor calls it. An
 * object serves one call of {@link #assign}.
 */
public final class DefaultAssignor {
    /**
     * A client, as Kafka describes it to its assignor.
     *
     * @param previousActive the existing tasks that the client lists as active
     * @param previousStandby the existing tasks of which the client has a directory without running them
     * @param lags the lag of every logged task, offsets; -2 if the task runs here, -3 if unknown; a TreeMap, as in
     *     Kafka's ClientState, gives Kafka's running time
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
     * @param racks the racks of its replicas; empty if unknown
     */
    public record Partition(TopicPartition name, boolean source, boolean changelog, Collection<String> racks) {}

    /**
     * The copies of a client in the answer and in the plan.
     *
     * @param standby the standbys without warm-ups, which are standbys to Kafka
     * @param plannedActive the active tasks of the client once all copies have caught up
     * @param plannedStandby the standbys of the client once all copies have caught up
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
     * @param tasks all tasks, with their partitions if racks are used
     * @param logged the tasks with a changelog, which Kafka calls stateful
     */
    public static DefaultAssignor highAvailability(
            AssignmentConfigs configs,
            Map<ProcessId, Client> clients,
            Map<TaskId, ? extends Collection<Partition>> tasks,
            Set<TaskId> logged) {
        return new DefaultAssignor(new HighAvailabilityTaskAssignor(), configs, clients, tasks, logged);
    }

    /**
     * Prepares the call that StreamsPartitionAssignor would make without a configured assignor: of
     * HighAvailabilityTaskAssignor or, if Kafka knows no end offset, of FallbackPriorTaskAssignor, which keeps tasks on
     * their owners.
     *
     * @param tasks all tasks, with their partitions if racks are used
     * @param logged the tasks with a changelog, which Kafka calls stateful
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

    /** Returns whether Kafka knows end offsets. Without them, lags are -2 for running actives and -3 for all others. */
    private static boolean hasLags(Map<ProcessId, Client> clients) {
        TreeSet<Long> lags = new TreeSet<>();
        clients.values().forEach(client -> lags.addAll(client.lags().values()));
        return lags.isEmpty() || lags.last() >= 0 || lags.first() > -3;
    }

    /**
     * Calls Kafka's classes for a group of one client and one task, with racks.
     *
     * @throws LinkageError if the classes are of another version than this class was built for
     * @throws RuntimeException if a class of another version fails
     */
    public static void checkReachable() {
        AssignmentConfigs configs = new AssignmentConfigs(
                0, 1, 0, 60_000, List.of(), OptionalInt.empty(), OptionalInt.empty(), "min_traffic");
        TaskId task = new TaskId(0, 0);
        SortedSet<TaskId> none = new TreeSet<>();
        Client client = new Client(1, none, none, Map.of(task, 0L), Map.of(), Optional.of("rack"));
        ProcessId id = new ProcessId(new UUID(0, 0));
        Partition partition = new Partition(new TopicPartition("topic", 0), true, false, Set.of("rack"));
        DefaultAssignor assignor = choose(configs, Map.of(id, client), Map.of(task, List.of(partition)), Set.of(task));
        boolean followup = assignor.assign();
        if (followup || !assignor.copies().get(id).active().contains(task)) {
            throw new IllegalStateException("found an unexpected answer for one client and one task");
        }
    }

    /**
     * Calls Kafka's assignor.
     *
     * @return whether it asks for a follow-up
     */
    public boolean assign() {
        return assignor.assign(given, tasks, logged, racks, configs);
    }

    /** Returns the copies of each client, after {@link #assign}. */
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
