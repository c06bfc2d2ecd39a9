package io.github.optassign.baselines;

import java.util.Collection;
import java.util.List;
import org.apache.kafka.streams.processor.TaskId;

/** The answer of a Kafka class: each client's tasks, and whether the class asks for a follow-up rebalance. */
public record BaselineAnswer(List<Assigned> clients, boolean followup) {

    /** The tasks of a client, in Kafka's order. Standbys do not include warm-ups. */
    public record Assigned(String processId, List<String> active, List<String> standby, List<String> warmup) {
        /** Returns a client's tasks, sorted. */
        public static Assigned of(
                SnapshotJson.Client client,
                Collection<TaskId> active,
                Collection<TaskId> standby,
                Collection<TaskId> warmup) {
            return new Assigned(client.processId(), sortNames(active), sortNames(standby), sortNames(warmup));
        }

        private static List<String> sortNames(Collection<TaskId> tasks) {
            return tasks.stream().sorted().map(TaskId::toString).toList();
        }
    }
}
