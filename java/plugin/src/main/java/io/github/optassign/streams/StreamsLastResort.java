package io.github.optassign.streams;

import io.github.optassign.policy.FollowupPolicy;
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
 * The assignment of last resort, for a planner that fails, which is a bug. Every task stays on its owner or moves to a
 * client that may have its state, without standbys; a follow-up asks for a better answer. It uses few classes of the
 * plug-in, and no lags.
 */
public final class StreamsLastResort {
    private StreamsLastResort() {}

    /** Returns an assignment of every task to one client. Throws only the exceptions of {@code state}. */
    public static TaskAssignment assign(ApplicationState state, Instant now) {
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
            // Owners first, then clients with a directory; among equals the fewest tasks per thread, then the least id.
            Comparator<ProcessId> order = Comparator.<ProcessId, Boolean>comparing(
                            client -> !states.get(client).previousActiveTasks().contains(task))
                    .thenComparing(
                            client -> !states.get(client).previousStandbyTasks().contains(task))
                    .thenComparingDouble(
                            client -> countPerThread(assigned.get(client).size(), states.get(client)));
            clients.stream()
                    .min(order)
                    .ifPresent(client -> assigned.get(client).add(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
        }
        long intervalMs = state.assignmentConfigs().probingRebalanceIntervalMs();
        Instant followup = now.plusMillis(
                Math.max(FollowupPolicy.LEAST_INTERVAL_MS, Math.min(FollowupPolicy.LONGEST_MS, intervalMs)));
        return new TaskAssignment(clients.stream()
                .map(client -> {
                    KafkaStreamsAssignment assignment = KafkaStreamsAssignment.of(client, assigned.get(client));
                    return client.equals(clients.get(0)) ? assignment.withFollowupRebalance(followup) : assignment;
                })
                .toList());
    }

    private static double countPerThread(int tasks, KafkaStreamsState client) {
        return tasks / (double) Math.max(1, client.numProcessingThreads());
    }
}
