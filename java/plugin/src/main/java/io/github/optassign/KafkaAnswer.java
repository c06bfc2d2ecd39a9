package io.github.optassign;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** A checked answer in Kafka's own types (KIP-924). */
final class KafkaAnswer {
    private KafkaAnswer() {}

    /**
     * Converts an answer. To Kafka a warm-up is a standby.
     *
     * @param now what the delays of follow-ups count from
     */
    static TaskAssignment of(Snapshot snapshot, CheckedAnswer answer, Instant now) {
        List<Set<AssignedTask>> perClient = new ArrayList<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            perClient.add(new HashSet<>());
        }
        Placement placement = answer.placement();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            AssignedTask standby = new AssignedTask(snapshot.task(t), AssignedTask.Type.STANDBY);
            perClient.get(placement.active()[t]).add(new AssignedTask(snapshot.task(t), AssignedTask.Type.ACTIVE));
            for (int c : placement.standby()[t]) {
                perClient.get(c).add(standby);
            }
            for (int c : placement.warmup()[t]) {
                perClient.get(c).add(standby);
            }
        }
        List<KafkaStreamsAssignment> clients = new ArrayList<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            KafkaStreamsAssignment client = KafkaStreamsAssignment.of(snapshot.processId(c), perClient.get(c));
            long delay = answer.followupMs()[c];
            clients.add(delay < 0 ? client : client.withFollowupRebalance(now.plusMillis(delay)));
        }
        return new TaskAssignment(clients);
    }
}
