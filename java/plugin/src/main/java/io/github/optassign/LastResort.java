package io.github.optassign;

import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * An assignment for when the fallback itself fails, which is a bug: every task stays where it is or goes where its
 * state may be, no standbys, a follow-up to do better. It uses nothing else of this plug-in, and no lags.
 */
final class LastResort {
    private LastResort() {}

    /** Assigns every task once. Throws only what Kafka's own state throws. */
    static TaskAssignment assign(ApplicationState state, Instant now) {
        Map<ProcessId, KafkaStreamsState> states = state.kafkaStreamsStates(false);
        List<ProcessId> clients = states.keySet().stream()
                .sorted(Comparator.comparing(ProcessId::toString))
                .toList();
        List<TaskId> tasks = state.allTasks().keySet().stream()
                .sorted(Comparator.comparing(TaskId::toString))
                .toList();
        Map<ProcessId, Set<AssignedTask>> assigned = new HashMap<>();
        clients.forEach(client -> assigned.put(client, new HashSet<>()));
        for (TaskId task : tasks) {
            // Owners first, then whoever has a directory; among equals the fewest tasks per thread, then the least id.
            clients.stream()
                    .min(Comparator.comparing((ProcessId client) ->
                                    !states.get(client).previousActiveTasks().contains(task))
                            .thenComparing(client ->
                                    !states.get(client).previousStandbyTasks().contains(task))
                            .thenComparingDouble(client -> assigned.get(client).size()
                                    / (double) Math.max(1, states.get(client).numProcessingThreads())))
                    .ifPresent(client -> assigned.get(client).add(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
        }
        Instant followup = now.plusMillis(
                AnswerCheck.withinLimits(state.assignmentConfigs().probingRebalanceIntervalMs()));
        return new TaskAssignment(clients.stream()
                .map(client -> {
                    KafkaStreamsAssignment assignment = KafkaStreamsAssignment.of(client, assigned.get(client));
                    return client.equals(clients.get(0)) ? assignment.withFollowupRebalance(followup) : assignment;
                })
                .toList());
    }
}
