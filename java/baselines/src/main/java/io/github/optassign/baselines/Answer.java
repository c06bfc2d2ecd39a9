package io.github.optassign.baselines;

import java.util.Collection;
import java.util.List;
import org.apache.kafka.streams.processor.TaskId;

/** What a Kafka class decided: what each client gets, by process id, and whether it wants to be asked again. */
record Answer(List<Assigned> clients, boolean followup) {

    /** What one client gets; warm-ups apart from standbys, tasks in Kafka's order. */
    record Assigned(String processId, List<String> active, List<String> standby, List<String> warmup) {
        static Assigned of(
                Snapshot.Client client,
                Collection<TaskId> active,
                Collection<TaskId> standby,
                Collection<TaskId> warmup) {
            return new Assigned(client.processId(), sorted(active), sorted(standby), sorted(warmup));
        }

        private static List<String> sorted(Collection<TaskId> tasks) {
            return tasks.stream().sorted().map(TaskId::toString).toList();
        }
    }
}
