package io.github.optassign.baselines;

import io.github.optassign.kafka.DefaultAssignor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/**
 * Kafka Streams' default, HighAvailabilityTaskAssignor (KIP-441), called as StreamsPartitionAssignor calls it.
 *
 * <p>Its time includes the text of a log line with all clients' previous tasks and lags, which Kafka builds even if
 * nothing is logged.
 */
final class HighAvailability implements Baseline {
    @Override
    public Rebalance prepare(BaselineApplication application) {
        DefaultAssignor assignor = DefaultAssignor.highAvailability(
                application.configs(), describeClients(application), listPartitions(application), application.logged());
        return new Rebalance() {
            private boolean followup;

            @Override
            public void assign() {
                followup = assignor.assign();
            }

            @Override
            public BaselineAnswer answer() {
                Map<ProcessId, DefaultAssignor.Copies> copies = assignor.copies();
                List<BaselineAnswer.Assigned> clients = new ArrayList<>();
                application.clients().forEach((id, client) -> {
                    DefaultAssignor.Copies own = copies.get(id);
                    clients.add(BaselineAnswer.Assigned.of(client, own.active(), own.standby(), own.warmup()));
                });
                return new BaselineAnswer(clients, followup);
            }
        };
    }

    private static Map<ProcessId, DefaultAssignor.Client> describeClients(BaselineApplication application) {
        Map<ProcessId, DefaultAssignor.Client> clients = new HashMap<>();
        application
                .clients()
                .forEach((id, client) -> clients.put(
                        id,
                        new DefaultAssignor.Client(
                                client.threads(),
                                application.selectExisting(client.previousActive()),
                                application.selectExisting(client.previousStandby()),
                                application.lags(client),
                                client.tags(),
                                Optional.ofNullable(client.rack()))));
        return clients;
    }

    private static Map<TaskId, List<DefaultAssignor.Partition>> listPartitions(BaselineApplication application) {
        Map<TaskId, List<DefaultAssignor.Partition>> partitions = new HashMap<>();
        application.tasks().forEach((id, task) -> {
            List<DefaultAssignor.Partition> ofId = new ArrayList<>();
            for (int i = 0; i < task.partitions().size(); i++) {
                SnapshotJson.Partition partition = task.partitions().get(i);
                ofId.add(new DefaultAssignor.Partition(
                        RackAware.toTopicPartition(id, i, partition),
                        partition.source(),
                        partition.changelog(),
                        partition.racks()));
            }
            partitions.put(id, ofId);
        });
        return partitions;
    }

    @Override
    public List<String> notes(BaselineApplication application) {
        List<String> notes = new ArrayList<>();
        RackAware.findMissing(application)
                .ifPresent(missing -> notes.add("racks were not taken into account: " + missing));
        if (application.unknownLags() > 0) {
            notes.add("lags not known: " + application.unknownLags()
                    + "; this class sorts them before all others. Where no end"
                    + " offset can be had, Kafka Streams does not ask it and keeps what was assigned");
        }
        return notes;
    }
}
