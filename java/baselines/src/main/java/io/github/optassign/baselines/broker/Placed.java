package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.Answer;
import io.github.optassign.baselines.Application;
import io.github.optassign.baselines.Snapshot;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.processor.TaskId;

/** Joins the members' tasks to the clients' tasks. */
final class Placed {
    private final Application application;
    private final Subtopologies subtopologies;
    private final Map<String, Snapshot.Client> clientOf = new HashMap<>();
    private final Map<Snapshot.Client, Set<TaskId>> active = new HashMap<>();
    private final Map<Snapshot.Client, Set<TaskId>> standby = new HashMap<>();
    private final Map<Snapshot.Client, Set<TaskId>> warmup = new HashMap<>();

    Placed(Application application, Subtopologies subtopologies) {
        this.application = application;
        this.subtopologies = subtopologies;
    }

    void register(Member member, Snapshot.Client client) {
        clientOf.put(member.id(), client);
    }

    void take(
            String member,
            Map<String, Set<Integer>> actives,
            Map<String, Set<Integer>> standbys,
            Map<String, Set<Integer>> warmups) {
        collect(active, member, actives);
        collect(standby, member, standbys);
        collect(warmup, member, warmups);
    }

    /** The broker asks for no follow-up. */
    Answer toAnswer() {
        return new Answer(
                application.clients().values().stream()
                        .map(client -> Answer.Assigned.of(
                                client,
                                active.getOrDefault(client, Set.of()),
                                standby.getOrDefault(client, Set.of()),
                                warmup.getOrDefault(client, Set.of())))
                        .toList(),
                false);
    }

    private void collect(Map<Snapshot.Client, Set<TaskId>> role, String member, Map<String, Set<Integer>> numbers) {
        role.computeIfAbsent(clientOf.get(member), none -> new HashSet<>()).addAll(subtopologies.toTasks(numbers));
    }
}
