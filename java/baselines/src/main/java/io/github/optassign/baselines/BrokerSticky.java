package io.github.optassign.baselines;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;
import org.apache.kafka.streams.processor.TaskId;

/**
 * Runs the broker's StickyTaskAssignor (KIP-1071, group.protocol=streams).
 *
 * <p>Its members are threads: the consumers of a client where the snapshot lists any, else as many as it has threads. A
 * consumer keeps the previous active tasks that it lists; the others, and all previous standbys, are dealt in the order
 * of task ids, each to the first of the client's members with the fewest so far. (The broker knows which standbys it
 * assigned; a snapshot lists every task directory.) A subtopology has partitions 0 to n - 1 there, so gaps in the
 * numbers of a snapshot's tasks are closed on the way in and opened on the way out. The class knows neither lags nor
 * warm-ups, asks for no follow-up, and takes tags and racks into account nowhere.
 */
final class BrokerSticky implements Baseline {
    @Override
    public Rebalance prepare(Application application) {
        Subtopologies subtopologies = new Subtopologies(application);
        Map<String, Snapshot.Client> clientOf = new LinkedHashMap<>();
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        application.clients().values().forEach(client -> {
            for (Member member : splitIntoMembers(application, client)) {
                clientOf.put(member.id, client);
                members.put(member.id, member.toSpec(client, subtopologies));
            }
        });
        String standbys = Integer.toString(application.configs().numStandbyReplicas());
        GroupSpec group =
                new GroupSpecImpl(Collections.unmodifiableMap(members), Map.of("num.standby.replicas", standbys));
        return new Rebalance() {
            private GroupAssignment assigned = new GroupAssignment(Map.of());

            @Override
            public void assign() {
                assigned = new StickyTaskAssignor().assign(group, subtopologies);
            }

            @Override
            public Answer answer() {
                Map<Snapshot.Client, Set<TaskId>> active = new HashMap<>();
                Map<Snapshot.Client, Set<TaskId>> standby = new HashMap<>();
                Map<Snapshot.Client, Set<TaskId>> warmup = new HashMap<>();
                assigned.members().forEach((id, member) -> {
                    Snapshot.Client client = clientOf.get(id);
                    collect(active, client, subtopologies.toTasks(member.activeTasks()));
                    collect(standby, client, subtopologies.toTasks(member.standbyTasks()));
                    collect(warmup, client, subtopologies.toTasks(member.warmupTasks()));
                });
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
        };
    }

    @Override
    public List<String> notes(Application application) {
        List<String> notes = new ArrayList<>();
        notes.add(
                "lags are not looked at; members are threads, and previous tasks without a consumer are dealt to them");
        if (!"none".equals(application.configs().rackAwareAssignmentStrategy())
                || !application.configs().rackAwareAssignmentTags().isEmpty()) {
            notes.add("racks and tags were not taken into account: the broker's assignor knows neither");
        }
        return notes;
    }

    private static void collect(
            Map<Snapshot.Client, Set<TaskId>> role, Snapshot.Client client, Collection<TaskId> tasks) {
        role.computeIfAbsent(client, none -> new HashSet<>()).addAll(tasks);
    }

    private static List<Member> splitIntoMembers(Application application, Snapshot.Client client) {
        List<Member> members = new ArrayList<>();
        Set<TaskId> previousActive = application.selectExisting(client.previousActive());
        new TreeMap<>(client.consumers()).forEach((consumer, listed) -> {
            Member member = new Member(client.processId() + "/" + consumer);
            for (TaskId task : application.selectExisting(listed)) {
                if (previousActive.remove(task)) {
                    member.active.add(task);
                }
            }
            members.add(member);
        });
        for (int i = 0; client.consumers().isEmpty() && i < client.threads(); i++) {
            members.add(new Member(client.processId() + "/" + i));
        }
        for (TaskId task : previousActive) {
            findLeastLoaded(members).active.add(task);
        }
        for (TaskId task : application.selectExisting(client.previousStandby())) {
            findLeastLoaded(members).standby.add(task);
        }
        return members;
    }

    private static Member findLeastLoaded(List<Member> members) {
        Member least = members.get(0);
        for (Member member : members) {
            if (member.size() < least.size()) {
                least = member;
            }
        }
        return least;
    }

    /** A member of the group, which is one thread, and the tasks that it had before. */
    private record Member(String id, List<TaskId> active, List<TaskId> standby) {
        Member(String id) {
            this(id, new ArrayList<>(), new ArrayList<>());
        }

        int size() {
            return active.size() + standby.size();
        }

        AssignmentMemberSpec toSpec(Snapshot.Client client, Subtopologies subtopologies) {
            return new AssignmentMemberSpec(
                    Optional.empty(),
                    Optional.ofNullable(client.rack()),
                    subtopologies.toNumbers(active),
                    subtopologies.toNumbers(standby),
                    Map.of(),
                    client.processId(),
                    client.tags(),
                    Map.of(),
                    Map.of());
        }
    }

    /** The topology as the broker sees it: subtopologies by name, their tasks numbered from 0 without gaps. */
    private static final class Subtopologies implements TopologyDescriber {
        private final Map<String, List<TaskId>> tasks = new TreeMap<>();
        private final Map<TaskId, Integer> number = new HashMap<>();
        private final Set<String> logged = new HashSet<>();

        Subtopologies(Application application) {
            application.tasks().forEach((id, task) -> {
                List<TaskId> ofSubtopology = tasks.computeIfAbsent(toName(id), none -> new ArrayList<>());
                number.put(id, ofSubtopology.size());
                ofSubtopology.add(id);
                if (task.logged()) {
                    logged.add(toName(id));
                }
            });
        }

        @Override
        public List<String> subtopologies() {
            return List.copyOf(tasks.keySet());
        }

        @Override
        public int maxNumInputPartitions(String subtopology) {
            return tasks.get(subtopology).size();
        }

        @Override
        public boolean isStateful(String subtopology) {
            return logged.contains(subtopology);
        }

        Map<String, Set<Integer>> toNumbers(List<TaskId> some) {
            Map<String, Set<Integer>> numbers = new HashMap<>();
            some.forEach(id ->
                    numbers.computeIfAbsent(toName(id), none -> new HashSet<>()).add(number.get(id)));
            return numbers;
        }

        List<TaskId> toTasks(Map<String, Set<Integer>> numbers) {
            List<TaskId> some = new ArrayList<>();
            numbers.forEach((subtopology, ofIt) ->
                    ofIt.forEach(i -> some.add(tasks.get(subtopology).get(i))));
            return some;
        }

        private static String toName(TaskId id) {
            return (id.topologyName() == null ? "" : id.topologyName() + "__") + id.subtopology();
        }
    }
}
