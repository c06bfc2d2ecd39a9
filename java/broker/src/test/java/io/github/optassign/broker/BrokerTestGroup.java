package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;

/**
 * A group in the coordinator's own classes, with its members' tasks and offsets. {@link #assign} asks an assignor,
 * checks the answer, and applies it as if every member had accepted it.
 */
final class BrokerTestGroup implements TopologyDescriber {
    private final Map<String, Integer> partitions = new TreeMap<>();
    private final Set<String> logged = new HashSet<>();
    private final Map<String, TestMember> members = new TreeMap<>();
    int standbys;
    List<String> tagKeys = List.of();

    /** A thread. */
    static final class TestMember {
        final String process;
        /** The instance id; null for a dynamic member. */
        String instance;

        Map<String, String> tags = Map.of();
        Map<String, Set<Integer>> active = new HashMap<>();
        Map<String, Set<Integer>> standby = new HashMap<>();
        Map<String, Set<Integer>> warmup = new HashMap<>();
        final Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        final Map<String, Map<Integer, Long>> endOffsets = new HashMap<>();

        void forgetOffsets() {
            offsets.clear();
            endOffsets.clear();
        }

        TestMember(String process) {
            this.process = process;
        }

        void report(String subtopology, int partition, long offset, long end) {
            offsets.computeIfAbsent(subtopology, none -> new HashMap<>()).put(partition, offset);
            endOffsets.computeIfAbsent(subtopology, none -> new HashMap<>()).put(partition, end);
        }
    }

    /** Returns an assignor with an empty memory of its own. */
    static OptassignGroupAssignor newAssignor() {
        return new OptassignGroupAssignor(Planning.Planner.DEFAULT, new GroupMemory());
    }

    BrokerTestGroup(int standbys) {
        this.standbys = standbys;
    }

    BrokerTestGroup logged(String subtopology, int count) {
        logged.add(subtopology);
        return stateless(subtopology, count);
    }

    BrokerTestGroup stateless(String subtopology, int count) {
        partitions.put(subtopology, count);
        return this;
    }

    /** Adds a process. The ids of its members are its name followed by a number from 0. */
    BrokerTestGroup process(String process, int threads) {
        for (int i = 0; i < threads; i++) {
            members.put(process + i, new TestMember(process));
        }
        return this;
    }

    /** Restarts the static members of a process. The coordinator gives each a new id, and its previous tasks. */
    void restart(String process) {
        List<String> ids = members.keySet().stream()
                .filter(id -> members.get(id).process.equals(process))
                .toList();
        // The new ids are in another order than the old ids.
        for (int i = 0; i < ids.size(); i++) {
            members.put(process + "-new" + (ids.size() - i), members.remove(ids.get(i)));
        }
    }

    /** Restarts a static member in a process of another id, with the tasks of {@code old}. */
    void processOnNewDisk(String id, String process, TestMember old) {
        TestMember member = new TestMember(process);
        member.instance = old.instance;
        member.tags = old.tags;
        member.active = old.active;
        member.standby = old.standby;
        members.put(id, member);
    }

    void remove(String process) {
        members.values().removeIf(member -> member.process.equals(process));
    }

    TestMember member(String id) {
        return members.get(id);
    }

    Map<String, TestMember> members() {
        return members;
    }

    /** Makes all members report all their copies: actives lag 0, and standbys {@code lagOfStandbys}. */
    void reportOffsets(long end, long lagOfStandbys) {
        members.values().forEach(member -> {
            member.forgetOffsets();
            forEach(member.active, (g, p) -> {
                if (logged.contains(g)) {
                    member.report(g, p, end, end);
                }
            });
            forEach(member.standby, (g, p) -> member.report(g, p, end - lagOfStandbys, end));
        });
    }

    /**
     * Makes all members report as threads of Kafka Streams 4.4.0 do: no offset of their own actives, and 0 for other
     * actives of their process.
     */
    void reportOffsetsAsStreamsDoes(long end, long lagOfStandbys) {
        reportOffsets(end, lagOfStandbys);
        members.values()
                .forEach(member -> forEach(member.active, (g, p) -> {
                    member.offsets.getOrDefault(g, new HashMap<>()).remove(p);
                    member.endOffsets.getOrDefault(g, new HashMap<>()).remove(p);
                    members.values().stream()
                            .filter(other ->
                                    other != member && other.process.equals(member.process) && logged.contains(g))
                            .forEach(other -> other.offsets
                                    .computeIfAbsent(g, none -> new HashMap<>())
                                    .put(p, 0L));
                }));
    }

    GroupSpec toSpec() {
        Map<String, MemberMetadataAndStateImpl> specs = new HashMap<>();
        members.forEach((id, member) -> specs.put(
                id,
                new MemberMetadataAndStateImpl(
                        Optional.ofNullable(member.instance),
                        Optional.empty(),
                        member.process,
                        member.tags,
                        member.active,
                        member.standby,
                        member.warmup,
                        member.offsets,
                        member.endOffsets)));
        return new GroupSpecImpl(specs, new AssignmentConfigsImpl(standbys, tagKeys));
    }

    /**
     * Asks an assignor, and checks and applies its answer.
     *
     * @return the number of tasks that change processes
     */
    int assign(TaskAssignor assignor) {
        GroupAssignment answer = assignor.assign(toSpec(), this);
        check(answer);
        Map<String, String> before = owners();
        answer.members().forEach((id, given) -> {
            members.get(id).active = new HashMap<>(given.activeTasks());
            members.get(id).standby = new HashMap<>(given.standbyTasks());
        });
        Map<String, String> after = owners();
        return (int) before.entrySet().stream()
                .filter(entry -> !entry.getValue().equals(after.get(entry.getKey())))
                .count();
    }

    /** Checks the rules without which applications end or tasks do not run. */
    void check(GroupAssignment answer) {
        assertEquals(members.keySet(), answer.members().keySet());
        Map<String, String> owner = new HashMap<>();
        for (Map.Entry<String, MemberAssignment> each : answer.members().entrySet()) {
            String process = members.get(each.getKey()).process;
            forEach(each.getValue().activeTasks(), (g, p) -> {
                assertTrue(p >= 0 && p < partitions.getOrDefault(g, 0), "there is no task " + g + "_" + p);
                assertEquals(null, owner.put(g + "_" + p, process), g + "_" + p + " is active twice");
            });
        }
        assertEquals(tasks(), owner.keySet());
        Set<String> copies = new HashSet<>();
        for (Map.Entry<String, MemberAssignment> each : answer.members().entrySet()) {
            String process = members.get(each.getKey()).process;
            forEach(each.getValue().standbyTasks(), (g, p) -> {
                String task = g + "_" + p;
                assertTrue(logged.contains(g), "a standby of " + task + ", which has no changelog");
                assertFalse(process.equals(owner.get(task)), "a standby of " + task + " in the process of its active");
                assertTrue(copies.add(task + " " + process), "two standbys of " + task + " in " + process);
                assertTrue(p >= 0 && p < partitions.get(g), "there is no task " + task);
            });
        }
    }

    Set<String> tasks() {
        Set<String> tasks = new TreeSet<>();
        partitions.forEach((g, count) -> {
            for (int p = 0; p < count; p++) {
                tasks.add(g + "_" + p);
            }
        });
        return tasks;
    }

    /** Returns the process of each active task. */
    Map<String, String> owners() {
        Map<String, String> owners = new TreeMap<>();
        members.values().forEach(member -> forEach(member.active, (g, p) -> owners.put(g + "_" + p, member.process)));
        return owners;
    }

    /** Returns the processes of each task's standbys. */
    Map<String, Set<String>> standbyProcesses() {
        Map<String, Set<String>> found = new TreeMap<>();
        members.values()
                .forEach(member -> forEach(
                        member.standby,
                        (g, p) -> found.computeIfAbsent(g + "_" + p, none -> new TreeSet<>())
                                .add(member.process)));
        return found;
    }

    /** Returns the number of actives, or standbys, of each member. */
    List<Integer> counts(boolean ofActives) {
        List<Integer> counts = new ArrayList<>();
        members.values()
                .forEach(member -> counts.add((ofActives ? member.active : member.standby)
                        .values().stream().mapToInt(Set::size).sum()));
        return counts;
    }

    private interface TaskConsumer {
        void accept(String subtopology, int partition);
    }

    private static void forEach(Map<String, Set<Integer>> tasks, TaskConsumer consumer) {
        tasks.forEach((g, ofIt) -> ofIt.forEach(p -> consumer.accept(g, p)));
    }

    @Override
    public List<String> subtopologies() {
        return List.copyOf(partitions.keySet());
    }

    @Override
    public int maxNumInputPartitions(String subtopology) {
        return partitions.get(subtopology);
    }

    @Override
    public boolean isStateful(String subtopology) {
        return logged.contains(subtopology);
    }
}
