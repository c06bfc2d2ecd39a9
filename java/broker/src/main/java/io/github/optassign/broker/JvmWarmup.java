package io.github.optassign.broker;

import io.github.optassign.broker.dealing.BrokerLastResort;
import io.github.optassign.broker.dealing.MemberAnswerCheck;
import io.github.optassign.broker.group.BrokerGroup;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.coordinator.group.api.streams.assignor.AssignmentConfigs;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentMetadata;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * A synthetic group that is assigned a few times while the broker starts. The first calls load classes and run
 * interpreted code, which would delay the coordinator; later calls take milliseconds.
 */
final class JvmWarmup implements GroupSpec, TopologyDescriber, AssignmentConfigs {
    /** The number of calls of the planner that warm the JVM up; more of them make the first real call hardly faster. */
    private static final int WARMUP_CALLS = 30;
    /** The number of tasks of each subtopology: with these processes, pools of clients are used as in large groups. */
    private static final int WARMUP_PARTITIONS = 200;
    /** The least number of processes in these calls. */
    private static final int WARMUP_PROCESSES = 30;
    /** The end offset of the group's changelogs, well above the acceptable lag. */
    private static final long WARMUP_END_OFFSET = 1_000_000;

    private final Map<String, MemberAssignment> given = new HashMap<>();
    private int processes = WARMUP_PROCESSES;

    private record Metadata(
            Optional<String> instanceId, Optional<String> rackId, String processId, Map<String, String> clientTags)
            implements MemberAssignmentMetadata {}

    private record State(
            Map<String, Set<Integer>> activeTasks,
            Map<String, Set<Integer>> standbyTasks,
            Map<String, Set<Integer>> warmupTasks,
            Map<String, Map<Integer, Long>> taskOffsets,
            Map<String, Map<Integer, Long>> taskEndOffsets)
            implements MemberAssignmentState {}

    private JvmWarmup() {}

    /** Assigns the group repeatedly, without side effects on the memory of real groups. */
    static void run() {
        JvmWarmup warmup = new JvmWarmup();
        GroupMemory memory = new GroupMemory();
        for (int call = 0; call < WARMUP_CALLS; call++) {
            warmup.processes = WARMUP_PROCESSES + call % 3;
            BrokerGroup group = new BrokerGroup(warmup, warmup);
            Planning.Decision decision = new Planning(
                            group,
                            "warmup",
                            BrokerConfig.DEFAULT,
                            Planning.Planner.DEFAULT,
                            memory.find(group),
                            false,
                            System.nanoTime())
                    .decide();
            if (MemberAnswerCheck.findFault(group, decision.answer()) == null) {
                memory.remember(group, decision.toRemember());
            }
            GroupAssignment answer = decision.answer().toKafka(group);
            warmup.given.clear();
            warmup.given.putAll(answer.members());
            BrokerLastResort.answer(group);
        }
    }

    @Override
    public Collection<String> memberIds() {
        return IntStream.range(0, 2 * processes).mapToObj(i -> "warmup-" + i).toList();
    }

    @Override
    public MemberAssignmentMetadata memberMetadata(String id) {
        int process = Integer.parseInt(id.substring(id.indexOf('-') + 1)) / 2;
        return new Metadata(
                Optional.empty(), Optional.empty(), "process-" + process, Map.of("zone", "zone-" + process % 2));
    }

    @Override
    public MemberAssignmentState memberAssignmentState(String id) {
        MemberAssignment previous = given.getOrDefault(id, new MemberAssignment(Map.of(), Map.of()));
        return new State(
                previous.activeTasks(),
                previous.standbyTasks(),
                Map.of(),
                reportOffsets(previous, 20_000),
                reportOffsets(previous, 0));
    }

    /** Returns the end offset for active tasks, and the end offset less {@code standbyLag} × partition for standbys. */
    private static Map<String, Map<Integer, Long>> reportOffsets(MemberAssignment tasks, long standbyLag) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        tasks.standbyTasks()
                .forEach((subtopology, partitions) -> offsets.put(subtopology, toOffsets(partitions, standbyLag)));
        tasks.activeTasks().forEach((subtopology, partitions) -> offsets.put(subtopology, toOffsets(partitions, 0)));
        return offsets;
    }

    private static Map<Integer, Long> toOffsets(Set<Integer> partitions, long lag) {
        Map<Integer, Long> offsets = new HashMap<>();
        partitions.forEach(partition -> offsets.put(partition, WARMUP_END_OFFSET - lag * partition));
        return offsets;
    }

    @Override
    public AssignmentConfigs configs() {
        return this;
    }

    @Override
    public int numStandbyReplicas() {
        return 1;
    }

    @Override
    public List<String> rackAwareAssignmentTags() {
        return processes % 2 == 0
                ? List.of("zone")
                : List.of(); // with and without tags, since plans are computed differently
    }

    @Override
    public List<String> subtopologies() {
        return List.of("0", "1");
    }

    @Override
    public int maxNumInputPartitions(String subtopology) {
        return WARMUP_PARTITIONS;
    }

    @Override
    public boolean isStateful(String subtopology) {
        return subtopology.equals("0");
    }
}
