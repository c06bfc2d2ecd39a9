package io.github.optassign.testing;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** Access to assignments in Kafka's classes. */
public final class Assignments {
    private Assignments() {}

    /** Returns the number of each active task's client, from 1 as in {@link StreamsTestGroup}. */
    public static Map<String, Integer> owners(TaskAssignment assignment) {
        Map<String, Integer> owners = new TreeMap<>();
        for (KafkaStreamsAssignment client : assignment.assignment()) {
            client.tasks().values().forEach(task -> {
                if (task.type() == KafkaStreamsAssignment.AssignedTask.Type.ACTIVE) {
                    owners.put(
                            task.id().toString(), (int) client.processId().id().getLeastSignificantBits());
                }
            });
        }
        return owners;
    }

    /** Returns the time until the first follow-up, or empty if no client asks for one. */
    public static Optional<Duration> findFollowup(TaskAssignment assignment) {
        Instant now = Instant.now();
        return assignment.assignment().stream()
                .map(KafkaStreamsAssignment::followupRebalanceDeadline)
                .flatMap(Optional::stream)
                .map(at -> Duration.between(now, at))
                .findFirst();
    }
}
