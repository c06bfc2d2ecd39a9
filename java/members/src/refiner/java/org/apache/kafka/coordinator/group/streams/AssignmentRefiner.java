package org.apache.kafka.coordinator.group.streams;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredTopology;

/**
 * A model of warm-ups in a later Kafka (KAFKA-20665). Tests put this class on the class path of a real broker, before
 * Kafka 4.4.0's class of the same name, which returns the target unchanged.
 *
 * <p>A task with state stays on its owner until a report shows that its new process has caught up. Until then the new
 * process has a warm-up task, within the limit on warm-ups.
 */
public final class AssignmentRefiner {
    private final Map<String, StreamsGroupMember> members;
    private final Map<String, MemberTaskOffsets> offsets;
    private final ConfiguredTopology topology;
    private final long acceptableLag;
    private final Map<String, Map<String, Set<Integer>>> active = new TreeMap<>();
    private final Map<String, Map<String, Set<Integer>>> standby = new TreeMap<>();
    private final Map<String, Map<String, Set<Integer>>> warmup = new TreeMap<>();

    private AssignmentRefiner(
            Map<String, StreamsGroupMember> members,
            Map<String, MemberTaskOffsets> offsets,
            ConfiguredTopology topology,
            long acceptableLag) {
        this.members = members;
        this.offsets = offsets;
        this.topology = topology;
        this.acceptableLag = acceptableLag;
    }

    /**
     * Returns the refined target. The coordinator of Kafka 4.4.0 calls this method once per epoch of the assignment.
     */
    public static Map<String, TasksTuple> refine(
            Map<String, StreamsGroupMember> members,
            Map<String, TasksTuple> target,
            Map<String, MemberTaskOffsets> offsets,
            ConfiguredTopology topology,
            int mostWarmups,
            long acceptableLag) {
        return new AssignmentRefiner(members, offsets, topology, acceptableLag).refine(target, mostWarmups);
    }

    /** Returns whether two assignments have the same number of active tasks, as the coordinator checks. */
    public static boolean preservesActiveTaskCount(Map<String, TasksTuple> target, Map<String, TasksTuple> refined) {
        return countActives(target) == countActives(refined);
    }

    private static int countActives(Map<String, TasksTuple> assignment) {
        return assignment.values().stream()
                .flatMap(tasks -> tasks.activeTasks().values().stream())
                .mapToInt(Set::size)
                .sum();
    }

    private Map<String, TasksTuple> refine(Map<String, TasksTuple> target, int mostWarmups) {
        target.forEach((id, tasks) -> {
            tasks.standbyTasks()
                    .forEach((subtopology, partitions) -> partitions.forEach(p -> add(standby, id, subtopology, p)));
        });
        int[] left = {mostWarmups};
        new TreeMap<>(target)
                .forEach((id, tasks) -> new TreeMap<>(tasks.activeTasks())
                        .forEach((subtopology, partitions) -> new TreeSet<>(partitions).forEach(p -> {
                            Optional<String> owner = findOwner(subtopology, p);
                            if (owner.isEmpty() || mayRun(id, owner.get(), subtopology, p)) {
                                add(active, id, subtopology, p);
                                return;
                            }
                            add(active, owner.get(), subtopology, p);
                            removeStandbys(processOf(owner.get()), subtopology, p);
                            if (left[0]-- > 0) {
                                add(warmup, id, subtopology, p);
                            }
                        })));
        Map<String, TasksTuple> refined = new HashMap<>();
        target.keySet().forEach(id -> refined.put(id, new TasksTuple(of(active, id), of(standby, id), of(warmup, id))));
        return refined;
    }

    private Optional<String> findOwner(String subtopology, int partition) {
        return members.values().stream()
                .filter(member -> member.assignedTasks()
                        .activeTasksWithEpochs()
                        .getOrDefault(subtopology, Map.of())
                        .containsKey(partition))
                .map(StreamsGroupMember::memberId)
                .findFirst();
    }

    private boolean mayRun(String id, String owner, String subtopology, int partition) {
        boolean hasState = topology.subtopologies()
                .map(found -> !found.get(subtopology).stateChangelogTopics().isEmpty())
                .orElse(true);
        return !hasState || processOf(owner).equals(processOf(id)) || isCaughtUp(processOf(id), subtopology, partition);
    }

    private boolean isCaughtUp(String process, String subtopology, int partition) {
        return members.keySet().stream()
                .filter(id -> processOf(id).equals(process) && offsets.containsKey(id))
                .map(offsets::get)
                .anyMatch(reported -> {
                    Long offset = reported.taskOffsets()
                            .getOrDefault(subtopology, Map.of())
                            .get(partition);
                    Long end = reported.taskEndOffsets()
                            .getOrDefault(subtopology, Map.of())
                            .get(partition);
                    return offset != null && end != null && end - offset <= acceptableLag;
                });
    }

    /** Returns the process of a member, or the member's own id if it joins with this heartbeat. */
    private String processOf(String id) {
        StreamsGroupMember member = members.get(id);
        return member == null ? id : member.processId();
    }

    private void removeStandbys(String process, String subtopology, int partition) {
        standby.forEach((id, tasks) -> {
            if (processOf(id).equals(process)) {
                tasks.getOrDefault(subtopology, Set.of()).remove(partition);
            }
        });
    }

    private static void add(
            Map<String, Map<String, Set<Integer>>> tasks, String id, String subtopology, int partition) {
        tasks.computeIfAbsent(id, none -> new HashMap<>())
                .computeIfAbsent(subtopology, none -> new HashSet<>())
                .add(partition);
    }

    private static Map<String, Set<Integer>> of(Map<String, Map<String, Set<Integer>>> tasks, String id) {
        Map<String, Set<Integer>> found = new HashMap<>(tasks.getOrDefault(id, Map.of()));
        found.values().removeIf(Set::isEmpty);
        return found;
    }
}
