package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentMetadata;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;

/**
 * A member of a group, which is a thread of a process, and its tasks.
 *
 * @param key the key in memory: the id or, for a static member, its instance and process ids, which survive a restart
 *     on the same disk
 * @param instance the instance id of a static member
 * @param active the indices of its active tasks, sorted
 * @param standby the indices of its standbys, sorted
 */
public record Member(
        String id,
        String key,
        Optional<String> instance,
        String process,
        Map<String, String> tags,
        int[] active,
        int[] standby,
        MemberAssignmentState state) {
    static Member read(String id, MemberAssignmentMetadata metadata, MemberAssignmentState state, TaskTable tasks) {
        String process = metadata.processId();
        // The coordinator gives a static member that restarts a new id. Groups may have the same instance ids, but
        // never the same process.
        String key =
                metadata.instanceId().map(instance -> instance + "@" + process).orElse(id);
        int[] active = toIndices(state.activeTasks(), tasks);
        int[] standby = toIndices(state.standbyTasks(), tasks);
        return new Member(id, key, metadata.instanceId(), process, metadata.clientTags(), active, standby, state);
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
