package io.github.optassign.shadow;

import io.github.optassign.model.Answer;
import io.github.optassign.streams.Racks;
import io.github.optassign.streams.StreamsGroup;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** A TaskAssignor of the public API (KIP-924), called as Kafka calls it; its answer is used unchanged. */
final class NamedAssignor implements ShadowAssignor {
    private final String name;
    private final TaskAssignor assignor;

    NamedAssignor(String name, TaskAssignor assignor, Map<String, ?> configs) {
        this.name = name;
        this.assignor = assignor;
        assignor.configure(configs);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Decision assign(ApplicationState state, StreamsGroup group, List<List<Racks.Partition>> partitions) {
        TaskAssignment assignment = assignor.assign(state);
        Instant now = Instant.now();
        List<Answer.Client> clients = assignment.assignment().stream()
                .sorted(Comparator.comparing(client -> client.processId().toString()))
                .map(client -> describe(client, now))
                .toList();
        return new Decision(new Answer(name, clients, null, List.of()), assignment);
    }

    private static Answer.Client describe(KafkaStreamsAssignment client, Instant now) {
        Long followupMs = client.followupRebalanceDeadline()
                .map(deadline -> Math.max(0, Duration.between(now, deadline).toMillis()))
                .orElse(null);
        return new Answer.Client(
                client.processId().toString(),
                listTasks(client, AssignedTask.Type.ACTIVE),
                listTasks(client, AssignedTask.Type.STANDBY),
                List.of(),
                followupMs);
    }

    private static List<String> listTasks(KafkaStreamsAssignment client, AssignedTask.Type type) {
        return client.tasks().values().stream()
                .filter(task -> task.type() == type)
                .map(AssignedTask::id)
                .sorted()
                .map(TaskId::toString)
                .toList();
    }

    @Override
    public void onAssignmentComputed(
            GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {
        assignor.onAssignmentComputed(assignment, subscription, error);
    }
}
