package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;

/**
 * A member of the group, which is one thread of a process, and the tasks that it has.
 *
 * @param active the indices of the tasks that it has as active, sorted
 * @param standby the indices of its standby tasks, sorted
 */
public record Member(
        String id, String process, Map<String, String> tags, int[] active, int[] standby, MemberAssignmentState state) {
    static Member read(
            String id, String process, Map<String, String> tags, MemberAssignmentState state, TaskTable tasks) {
        int[] active = toIndices(state.activeTasks(), tasks);
        return new Member(id, process, tags, active, toIndices(state.standbyTasks(), tasks), state);
    }

    private static int[] toIndices(Map<String, Set<Integer>> listed, TaskTable tasks) {
        int[] found = new int[listed.values().stream().mapToInt(Set::size).sum()];
        int count = 0;
        for (Map.Entry<String, Set<Integer>> each : listed.entrySet()) {
            for (int partition : each.getValue()) {
                int t = tasks.index(each.getKey(), partition);
                if (t >= 0) {
                    found[count++] = t;
                }
            }
        }
        int[] sorted = Arrays.copyOf(found, count);
        Arrays.sort(sorted);
        return sorted;
    }
}
