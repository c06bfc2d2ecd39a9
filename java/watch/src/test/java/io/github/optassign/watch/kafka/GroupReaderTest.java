package io.github.optassign.watch.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.watch.deciding.Copy;
import io.github.optassign.watch.deciding.GroupView;
import io.github.optassign.watch.deciding.RestoringActive;
import io.github.optassign.watch.deciding.TaskId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment.TaskIds;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription.TaskOffset;
import org.apache.kafka.clients.admin.StreamsGroupSubtopologyDescription;
import org.apache.kafka.clients.admin.StreamsGroupTopologyDescriptionStatus;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.Node;
import org.junit.jupiter.api.Test;

/** The view of a group from the coordinator's description. */
class GroupReaderTest {
    private static StreamsGroupMemberDescription member(
            String id, String process, Map<String, String> tags, List<Integer> active, List<Integer> standby) {
        var assignment = new StreamsGroupMemberAssignment(
                List.of(new TaskIds("0", active)), List.of(new TaskIds("0", standby)), List.of());
        return new StreamsGroupMemberDescription(
                id,
                3,
                Optional.empty(),
                Optional.empty(),
                "client",
                "host",
                0,
                process,
                Optional.empty(),
                tags,
                List.of(new TaskOffset("0", 0, 700), new TaskOffset("0", 1, -2), new TaskOffset("0", 2, 5)),
                List.of(new TaskOffset("0", 0, 1000), new TaskOffset("0", 2, Long.MAX_VALUE)),
                assignment,
                assignment,
                false);
    }

    private static StreamsGroupDescription group(GroupState state, StreamsGroupMemberDescription... members) {
        return new StreamsGroupDescription(
                "g",
                7,
                7,
                0,
                List.of(
                        new StreamsGroupSubtopologyDescription(
                                "0",
                                List.of("in", "hidden"),
                                List.of(),
                                Map.of("log", new StreamsGroupSubtopologyDescription.TopicInfo(0, 0, Map.of())),
                                Map.of()),
                        new StreamsGroupSubtopologyDescription("1", List.of("other"), List.of(), Map.of(), Map.of())),
                List.of(members),
                state,
                new Node(1, "h", 1),
                Set.of(),
                Optional.empty(),
                StreamsGroupTopologyDescriptionStatus.NOT_REQUESTED,
                Optional.of("optassign"));
    }

    @Test
    void readsTasksProcessesAndLags() {
        GroupView view = GroupReader.read(
                group(
                        GroupState.STABLE,
                        member("m1", "a", Map.of("optassign.capacity", "2"), List.of(1), List.of(0)),
                        member("m2", "a", Map.of("optassign.capacity", "x"), List.of(), List.of()),
                        member("m3", "b", Map.of("optassign.draining", "true"), List.of(0), List.of(2)),
                        member("m4", "c", Map.of("optassign.drain", "true"), List.of(), List.of())),
                Map.of("in", 3, "other", 1),
                1,
                true);
        assertEquals(GroupView.Phase.STABLE, view.phase());
        assertEquals(7, view.epoch());
        assertEquals(Map.of("a", 3_000_000L, "b", 0L, "c", 0L), view.units());
        TaskId stateless = new TaskId("1", 0);
        TaskId first = new TaskId("0", 0);
        assertEquals(
                Map.of(first, true, new TaskId("0", 1), true, new TaskId("0", 2), true, stateless, false),
                view.tasks());
        assertEquals(Map.of(first, List.of("b"), new TaskId("0", 1), List.of("a")), view.active());
        assertEquals(Map.of(first, Set.of("a"), new TaskId("0", 2), Set.of("b")), view.standby());
        // Reports of members without a copy do not count, and neither do offsets without an end offset.
        assertEquals(Map.of(new Copy(first, "a"), 300L), view.lags());
        assertEquals(true, view.isConfigChanged());
    }

    /**
     * Each member reports 700 of 1000 offsets of task 0, all offsets of task 1, and 5 of task 2, whose end is unknown.
     */
    @Test
    void readsReportsOnActives() {
        GroupView view = GroupReader.read(
                group(
                        GroupState.STABLE,
                        member("m1", "a", Map.of(), List.of(0, 2), List.of(1)),
                        member("m2", "a", Map.of(), List.of(1), List.of())),
                Map.of("in", 3, "other", 1),
                1,
                false);
        assertEquals(
                Map.of(
                        new Copy(new TaskId("0", 0), "a"), new RestoringActive("m1", 700, 300),
                        new Copy(new TaskId("0", 1), "a"), new RestoringActive("m2", -1, -1),
                        new Copy(new TaskId("0", 2), "a"), new RestoringActive("m1", 5, -1)),
                view.restoring(),
                "it runs task 1, and without an end anywhere the lag is not known");
    }

    @Test
    void aTaskOfAHiddenTopicIsKnownFromItsMember() {
        GroupView view = GroupReader.read(
                group(GroupState.RECONCILING, member("m", "a", Map.of(), List.of(4), List.of())), Map.of(), 0, false);
        assertEquals(Map.of(new TaskId("0", 4), true), view.tasks());
        assertEquals(GroupView.Phase.CHANGING, view.phase());
    }

    @Test
    void progressIsTheMembersTasks() {
        GroupView one = GroupReader.read(
                group(GroupState.RECONCILING, member("m", "a", Map.of(), List.of(1), List.of())), Map.of(), 0, false);
        GroupView same = GroupReader.read(
                group(GroupState.RECONCILING, member("m", "a", Map.of(), List.of(1), List.of())), Map.of(), 0, false);
        GroupView other = GroupReader.read(
                group(GroupState.RECONCILING, member("m", "a", Map.of(), List.of(2), List.of())), Map.of(), 0, false);
        assertEquals(one.progress(), same.progress());
        assertEquals(false, one.progress().equals(other.progress()));
    }
}
