package io.github.optassign.testing;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** Reads assignments that Kafka is given. */
public final class Assignments {
    private Assignments() {}

    /** Task to the number of the client (as {@link StreamsTestGroup} counts them, from 1) that has its active. */
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
}
