package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.BaselineAnswer;
import io.github.optassign.baselines.BaselineApplication;
import io.github.optassign.baselines.SnapshotJson;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.processor.TaskId;

/** A collector of each client's tasks from the tasks of its members. */
final class ClientTaskCollector {
    private final BaselineApplication application;
    private final Subtopologies subtopologies;
    private final Map<String, SnapshotJson.Client> clientOfMember = new HashMap<>();
    private final Map<SnapshotJson.Client, Set<TaskId>> active = new HashMap<>();
    private final Map<SnapshotJson.Client, Set<TaskId>> standby = new HashMap<>();
    private final Map<SnapshotJson.Client, Set<TaskId>> warmup = new HashMap<>();

    ClientTaskCollector(BaselineApplication application, Subtopologies subtopologies) {
        this.application = application;
        this.subtopologies = subtopologies;
    }

    void register(BaselineMember member, SnapshotJson.Client client) {
        clientOfMember.put(member.id(), client);
    }

    void add(
            String member,
            Map<String, Set<Integer>> actives,
            Map<String, Set<Integer>> standbys,
            Map<String, Set<Integer>> warmups) {
        collect(active, member, actives);
        collect(standby, member, standbys);
        collect(warmup, member, warmups);
    }

    /** Returns the answer, without a follow-up, since the broker has none. */
    BaselineAnswer toAnswer() {
        return new BaselineAnswer(
                application.clients().values().stream()
                        .map(client -> BaselineAnswer.Assigned.of(
                                client,
                                active.getOrDefault(client, Set.of()),
                                standby.getOrDefault(client, Set.of()),
                                warmup.getOrDefault(client, Set.of())))
                        .toList(),
                false);
    }

    private void collect(Map<SnapshotJson.Client, Set<TaskId>> role, String member, Map<String, Set<Integer>> numbers) {
        role.computeIfAbsent(clientOfMember.get(member), none -> new HashSet<>())
                .addAll(subtopologies.toTasks(numbers));
    }
}
