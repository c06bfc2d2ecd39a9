package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;

/**
 * Runs HighAvailabilityTaskAssignor, which Kafka Streams uses where nothing else is configured (KIP-441), as
 * StreamsPartitionAssignor does.
 *
 * <p>Its time includes the text of its log line, which lists all previous tasks and lags of all clients: Kafka builds
 * it whether or not anything is logged.
 */
final class HighAvailability implements Baseline {
    @Override
    public Rebalance prepare(Application application) {
        RecordedClientState.Recording recording = new RecordedClientState.Recording();
        Map<ProcessId, RecordedClientState> states = new HashMap<>();
        application
                .clients()
                .forEach((id, client) -> states.put(
                        id,
                        new RecordedClientState(
                                recording,
                                id,
                                client.threads(),
                                application.selectExisting(client.previousActive()),
                                application.selectExisting(client.previousStandby()),
                                application.lags(client),
                                client.tags())));
        Map<ProcessId, ClientState> given = new HashMap<>(states);
        Set<TaskId> tasks = new HashSet<>(application.tasks().keySet());
        Set<TaskId> logged = new HashSet<>(application.logged());
        RackAwareTaskAssignor racks = RackAware.createAssignor(application);
        return new Rebalance() {
            private boolean followup;

            @Override
            public void assign() {
                followup =
                        new HighAvailabilityTaskAssignor().assign(given, tasks, logged, racks, application.configs());
            }

            @Override
            public Answer answer() {
                List<Answer.Assigned> clients = new ArrayList<>();
                application.clients().forEach((id, client) -> {
                    RecordedClientState state = states.get(id);
                    Set<TaskId> warmups = state.warmups();
                    List<TaskId> standbys = state.standbyTasks().stream()
                            .filter(task -> !warmups.contains(task))
                            .toList();
                    clients.add(Answer.Assigned.of(client, state.activeTasks(), standbys, warmups));
                });
                return new Answer(clients, followup);
            }
        };
    }

    @Override
    public List<String> notes(Application application) {
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
