package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.Baseline;
import io.github.optassign.baselines.BaselineAnswer;
import io.github.optassign.baselines.BaselineApplication;
import io.github.optassign.baselines.SnapshotJson;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.coordinator.group.api.streams.assignor.AssignmentConfigs;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentMetadata;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;

/**
 * The StickyTaskAssignor of 4.4's broker. It has no warm-ups, and uses lags only for standbys without a previous
 * client, which go to the client with most of the state.
 */
public final class Sticky44 implements Baseline {
    /** Kafka's assignor, shared since 4.4.0's assignors keep no state between calls. */
    private final TaskAssignor assignor = BrokerClasses.createSticky();

    @Override
    public Rebalance prepare(BaselineApplication application) {
        Subtopologies subtopologies = new Subtopologies(application);
        ClientTaskCollector placed = new ClientTaskCollector(application, subtopologies);
        Map<String, Metadata> metadata = new HashMap<>();
        Map<String, State> states = new HashMap<>();
        application.clients().values().forEach(client -> {
            List<BaselineMember> members = BaselineMember.split(application, client);
            Offsets offsets = Offsets.read(application, client);
            for (BaselineMember member : members) {
                placed.register(member, client);
                metadata.put(member.id(), Metadata.of(client));
                states.put(
                        member.id(),
                        new State(
                                subtopologies.toNumbers(member.active()),
                                subtopologies.toNumbers(member.standby()),
                                Map.of(),
                                subtopologies.toNumbers(offsets.reportedBy(member, members)),
                                subtopologies.toNumbers(offsets.ends())));
            }
        });
        GroupSpec group = new Group(
                Collections.unmodifiableMap(metadata),
                states,
                new Configs(
                        application.configs().numStandbyReplicas(),
                        application.configs().rackAwareAssignmentTags()));
        return new Rebalance() {
            private GroupAssignment assigned = new GroupAssignment(Map.of());

            @Override
            public void assign() {
                assigned = assignor.assign(group, subtopologies);
            }

            @Override
            public BaselineAnswer answer() {
                assigned.members()
                        .forEach((id, got) -> placed.add(id, got.activeTasks(), got.standbyTasks(), Map.of()));
                return placed.toAnswer();
            }
        };
    }

    @Override
    public List<String> notes(BaselineApplication application) {
        return Notes.of(
                application,
                "lags decide only between new places of standbys; members are threads, and previous tasks without a consumer "
                        + "are distributed to them");
    }

    @Override
    public String version() {
        return BrokerClasses.VERSION;
    }

    /** The coordinator's description of a group. */
    private record Group(Map<String, Metadata> metadata, Map<String, State> states, Configs configs)
            implements GroupSpec {
        @Override
        public Collection<String> memberIds() {
            return metadata.keySet();
        }

        @Override
        public MemberAssignmentMetadata memberMetadata(String member) {
            return metadata.get(member);
        }

        @Override
        public MemberAssignmentState memberAssignmentState(String member) {
            return states.get(member);
        }
    }

    /** The group's configs for assignors. */
    private record Configs(int numStandbyReplicas, List<String> rackAwareAssignmentTags) implements AssignmentConfigs {}

    /** A member's identity. */
    private record Metadata(
            Optional<String> instanceId, Optional<String> rackId, String processId, Map<String, String> clientTags)
            implements MemberAssignmentMetadata {
        static Metadata of(SnapshotJson.Client client) {
            return new Metadata(
                    Optional.empty(), Optional.ofNullable(client.rack()), client.processId(), client.tags());
        }
    }

    /** A member's tasks, and the offsets that it reports. */
    private record State(
            Map<String, Set<Integer>> activeTasks,
            Map<String, Set<Integer>> standbyTasks,
            Map<String, Set<Integer>> warmupTasks,
            Map<String, Map<Integer, Long>> taskOffsets,
            Map<String, Map<Integer, Long>> taskEndOffsets)
            implements MemberAssignmentState {}
}
