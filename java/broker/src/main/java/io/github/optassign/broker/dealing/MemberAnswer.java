package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.TaskTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;

/** The active tasks and standbys of each member, by the indices of members and tasks. */
public final class MemberAnswer {
    private final List<List<Integer>> active = new ArrayList<>();
    private final List<List<Integer>> standby = new ArrayList<>();

    public MemberAnswer(int members) {
        for (int m = 0; m < members; m++) {
            active.add(new ArrayList<>());
            standby.add(new ArrayList<>());
        }
    }

    public void addActive(int m, int t) {
        active.get(m).add(t);
    }

    public void addStandby(int m, int t) {
        standby.get(m).add(t);
    }

    public int size() {
        return active.size();
    }

    public List<Integer> active(int m) {
        return active.get(m);
    }

    public List<Integer> standby(int m) {
        return standby.get(m);
    }

    /** Converts the answer into Kafka's types, including members without tasks. */
    public GroupAssignment toKafka(BrokerGroup group) {
        Map<String, MemberAssignment> members = new HashMap<>();
        for (int m = 0; m < size(); m++) {
            members.put(
                    group.members().get(m).id(),
                    new MemberAssignment(
                            bySubtopology(active.get(m), group.tasks()), bySubtopology(standby.get(m), group.tasks())));
        }
        return new GroupAssignment(members);
    }

    private static Map<String, Set<Integer>> bySubtopology(List<Integer> listed, TaskTable tasks) {
        Map<String, Set<Integer>> found = new HashMap<>();
        listed.forEach(t -> found.computeIfAbsent(tasks.subtopology(t), none -> new HashSet<>())
                .add(tasks.partition(t)));
        return found;
    }
}
