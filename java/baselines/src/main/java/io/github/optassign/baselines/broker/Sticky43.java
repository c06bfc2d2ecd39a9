package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.Baseline;
import io.github.optassign.baselines.BaselineAnswer;
import io.github.optassign.baselines.BaselineApplication;
import io.github.optassign.baselines.SnapshotJson;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** The StickyTaskAssignor of 4.3's broker, which uses no lags, warm-ups, tags or racks. */
public final class Sticky43 implements Baseline {
    @Override
    public Rebalance prepare(BaselineApplication application) {
        Subtopologies subtopologies = new Subtopologies(application);
        ClientTaskCollector placed = new ClientTaskCollector(application, subtopologies);
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        application.clients().values().forEach(client -> {
            for (BaselineMember member : BaselineMember.split(application, client)) {
                placed.register(member, client);
                members.put(member.id(), toSpec(member, client, subtopologies));
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
            public BaselineAnswer answer() {
                assigned.members()
                        .forEach((id, got) -> placed.add(id, got.activeTasks(), got.standbyTasks(), got.warmupTasks()));
                return placed.toAnswer();
            }
        };
    }

    @Override
    public List<String> notes(BaselineApplication application) {
        return Notes.of(
                application,
                "lags are not used; members are threads, and previous tasks without a consumer are distributed to them");
    }

    private static AssignmentMemberSpec toSpec(
            BaselineMember member, SnapshotJson.Client client, Subtopologies subtopologies) {
        return new AssignmentMemberSpec(
                Optional.empty(),
                Optional.ofNullable(client.rack()),
                subtopologies.toNumbers(member.active()),
                subtopologies.toNumbers(member.standby()),
                Map.of(),
                client.processId(),
                client.tags(),
                Map.of(),
                Map.of());
    }
}
