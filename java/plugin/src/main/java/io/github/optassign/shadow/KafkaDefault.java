package io.github.optassign.shadow;

import io.github.optassign.config.ShadowChoice;
import io.github.optassign.kafka.DefaultAssignor;
import io.github.optassign.model.Answer;
import io.github.optassign.streams.Racks;
import io.github.optassign.streams.StreamsGroup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/**
 * Kafka's default assignor, from the application's own Kafka Streams. It is an internal class; if another version has
 * changed it, the call fails with a LinkageError before anything is decided.
 */
final class KafkaDefault implements ShadowAssignor {
    @Override
    public String name() {
        return ShadowChoice.HIGH_AVAILABILITY;
    }

    @Override
    public Decision assign(ApplicationState state, StreamsGroup group, List<List<Racks.Partition>> partitions) {
        Map<ProcessId, DefaultAssignor.Client> clients = new HashMap<>();
        Set<TaskId> logged = new HashSet<>();
        for (int c = 0; c < group.snapshot().clientCount(); c++) {
            DefaultAssignor.Client client =
                    describe(group.state(c), state.allTasks().keySet());
            logged.addAll(client.lags().keySet());
            clients.put(group.processId(c), client);
        }
        DefaultAssignor assignor =
                DefaultAssignor.choose(state.assignmentConfigs(), clients, describe(group, partitions), logged);
        boolean followup = assignor.assign();
        return new Decision(toAnswer(group, assignor.copies(), followup), null);
    }

    /** Describes a client. Drops previous tasks that no longer exist, as Kafka's own description does. */
    private static DefaultAssignor.Client describe(KafkaStreamsState client, Set<TaskId> tasks) {
        TreeSet<TaskId> active = new TreeSet<>(client.previousActiveTasks());
        TreeSet<TaskId> standby = new TreeSet<>(client.previousStandbyTasks());
        active.retainAll(tasks);
        standby.retainAll(tasks);
        return new DefaultAssignor.Client(
                client.numProcessingThreads(),
                active,
                standby,
                new TreeMap<>(client.statefulTasksToLagSums()),
                client.clientTags(),
                client.rackId());
    }

    private static Map<TaskId, List<DefaultAssignor.Partition>> describe(
            StreamsGroup group, List<List<Racks.Partition>> partitions) {
        Map<TaskId, List<DefaultAssignor.Partition>> described = new HashMap<>();
        for (int t = 0; t < group.snapshot().taskCount(); t++) {
            List<Racks.Partition> known = partitions.isEmpty() ? List.of() : partitions.get(t);
            described.put(
                    group.task(t),
                    known.stream()
                            .map(partition -> new DefaultAssignor.Partition(
                                    new TopicPartition(partition.topic(), partition.number()),
                                    partition.source(),
                                    partition.changelog(),
                                    partition.racks()))
                            .toList());
        }
        return described;
    }

    private static Answer toAnswer(
            StreamsGroup group, Map<ProcessId, DefaultAssignor.Copies> copies, boolean followup) {
        List<Answer.Client> clients = new ArrayList<>();
        List<Answer.Client> plan = new ArrayList<>();
        boolean isPlanReached = true;
        for (int c = 0; c < group.snapshot().clientCount(); c++) {
            DefaultAssignor.Copies own = copies.get(group.processId(c));
            String name = group.snapshot().clientName(c);
            // In Kafka the leader's own client asks. An assignor does not know the leader, and any client will do.
            Long followupMs = followup && c == 0 ? group.configs().probingRebalanceIntervalMs() : null;
            clients.add(
                    new Answer.Client(name, list(own.active()), list(own.standby()), list(own.warmup()), followupMs));
            plan.add(new Answer.Client(name, list(own.plannedActive()), list(own.plannedStandby()), List.of(), null));
            isPlanReached &=
                    own.active().equals(own.plannedActive()) && own.standby().equals(own.plannedStandby());
        }
        return new Answer(ShadowChoice.HIGH_AVAILABILITY, clients, isPlanReached ? null : plan, List.of());
    }

    private static List<String> list(Collection<TaskId> tasks) {
        return tasks.stream().map(TaskId::toString).toList();
    }
}
