package io.github.optassign.streams;

import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** Conversion of checked answers into Kafka's own types (KIP-924). */
public final class AnswerConverter {
    private AnswerConverter() {}

    /** Converts the copies of an answer, without follow-ups. Warm-ups become standbys, as in Kafka. */
    public static TaskAssignment convert(StreamsGroup group, CheckedAnswer answer) {
        List<Set<AssignedTask>> perClient = new ArrayList<>();
        for (int c = 0; c < group.snapshot().clientCount(); c++) {
            perClient.add(new HashSet<>());
        }
        Placement placement = answer.placement();
        for (int t = 0; t < group.snapshot().taskCount(); t++) {
            AssignedTask standby = new AssignedTask(group.task(t), AssignedTask.Type.STANDBY);
            perClient.get(placement.active()[t]).add(new AssignedTask(group.task(t), AssignedTask.Type.ACTIVE));
            for (int c : placement.standby()[t]) {
                perClient.get(c).add(standby);
            }
            for (int c : placement.warmup()[t]) {
                perClient.get(c).add(standby);
            }
        }
        List<KafkaStreamsAssignment> clients = new ArrayList<>();
        for (int c = 0; c < group.snapshot().clientCount(); c++) {
            clients.add(KafkaStreamsAssignment.of(group.processId(c), perClient.get(c)));
        }
        return new TaskAssignment(clients);
    }

    /**
     * Adds follow-ups to copies.
     *
     * @param deadlines per client the instant at which it asks for a rebalance, or null if it does not
     */
    public static TaskAssignment withFollowups(TaskAssignment copies, Instant[] deadlines) {
        List<KafkaStreamsAssignment> clients = new ArrayList<>();
        for (KafkaStreamsAssignment client : copies.assignment()) {
            Instant deadline = deadlines[clients.size()];
            clients.add(deadline == null ? client : client.withFollowupRebalance(deadline));
        }
        return new TaskAssignment(clients);
    }
}
