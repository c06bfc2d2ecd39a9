package io.github.optassign.broker;

import io.github.optassign.broker.dealing.BrokerLastResort;
import io.github.optassign.broker.dealing.MemberAnswerCheck;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.policy.BrokerPolicy;
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

    private final Map<String, MemberAssignment> given = new HashMap<>();
    private int processes = 4;

    private JvmWarmup() {}

    /** Assigns the group repeatedly, without side effects on the memory of real groups. */
    static void run() {
        JvmWarmup warmup = new JvmWarmup();
        GroupMemory memory = new GroupMemory();
        for (int call = 0; call < BrokerPolicy.WARMUP_CALLS; call++) {
            warmup.processes = 4 + call % 3;
            BrokerGroup group = new BrokerGroup(warmup, warmup);
            Planning.Decision decision = new Planning(
                            group,
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
        return new MemberAssignmentMetadata() {
            @Override
            public Optional<String> instanceId() {
                return Optional.empty();
            }

            @Override
            public Optional<String> rackId() {
                return Optional.empty();
            }

            @Override
            public String processId() {
                return "process-" + process;
            }

            @Override
            public Map<String, String> clientTags() {
                return Map.of("zone", "zone-" + process % 2);
            }
        };
    }

    @Override
    public MemberAssignmentState memberAssignmentState(String id) {
        MemberAssignment previous = given.getOrDefault(id, new MemberAssignment(Map.of(), Map.of()));
        return new MemberAssignmentState() {
            @Override
            public Map<String, Set<Integer>> activeTasks() {
                return previous.activeTasks();
            }

            @Override
            public Map<String, Set<Integer>> standbyTasks() {
                return previous.standbyTasks();
            }

            @Override
            public Map<String, Set<Integer>> warmupTasks() {
                return Map.of();
            }

            @Override
            public Map<String, Map<Integer, Long>> taskOffsets() {
                Map<String, Map<Integer, Long>> offsets = reportOffsets(previous.standbyTasks(), 20_000);
                offsets.putAll(reportOffsets(previous.activeTasks(), 0));
                return offsets;
            }

            @Override
            public Map<String, Map<Integer, Long>> taskEndOffsets() {
                Map<String, Map<Integer, Long>> offsets = reportOffsets(previous.standbyTasks(), 0);
                offsets.putAll(reportOffsets(previous.activeTasks(), 0));
                return offsets;
            }
        };
    }

    private static Map<String, Map<Integer, Long>> reportOffsets(Map<String, Set<Integer>> tasks, long lag) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        tasks.forEach((subtopology, partitions) -> {
            Map<Integer, Long> byPartition = offsets.computeIfAbsent(subtopology, none -> new HashMap<>());
            partitions.forEach(
                    partition -> byPartition.put(partition, BrokerPolicy.WARMUP_END_OFFSET - lag * partition));
        });
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
        return BrokerPolicy.WARMUP_PARTITIONS;
    }

    @Override
    public boolean isStateful(String subtopology) {
        return subtopology.equals("0");
    }
}
