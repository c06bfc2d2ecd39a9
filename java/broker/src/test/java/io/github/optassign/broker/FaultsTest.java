package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.ClientProfile;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.LogLines;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.apache.kafka.coordinator.group.api.streams.assignor.AssignmentConfigs;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentMetadata;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignmentState;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** After any fault, the answer contains every task. */
class FaultsTest {
    private static BrokerTestGroup newGroup() {
        BrokerTestGroup group = new BrokerTestGroup(1)
                .logged("0", 12)
                .stateless("1", 5)
                .process("a", 2)
                .process("b", 2)
                .process("c", 1);
        group.assign(new StickyTaskAssignor());
        group.reportOffsets(1000, 0);
        return group;
    }

    private static Arguments spoilt(String what, BiConsumer<Snapshot, Placement> spoiling) {
        Planning.Planner planner = (snapshot, last) -> {
            RebalancePlanner.Result result = Planning.Planner.DEFAULT.plan(snapshot, last);
            spoiling.accept(snapshot, result.placement());
            return result;
        };
        return Arguments.of(what, planner);
    }

    private static Arguments throwing(Throwable error) {
        Planning.Planner planner = (snapshot, last) -> {
            throw FaultsTest.<RuntimeException>sneak(error);
        };
        return Arguments.of(error.getClass().getSimpleName(), planner);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E sneak(Throwable error) throws E {
        throw (E) error;
    }

    static Stream<Arguments> planners() {
        return Stream.of(
                throwing(new IllegalStateException("a bug")),
                throwing(new NullPointerException()),
                throwing(new StackOverflowError()),
                throwing(new OutOfMemoryError()),
                throwing(new NoClassDefFoundError()),
                Arguments.of("no result", (Planning.Planner) (snapshot, last) -> null),
                Arguments.of(
                        "no placement", (Planning.Planner) (snapshot, last) -> new RebalancePlanner.Result(null, null)),
                Arguments.of("of another group", (Planning.Planner)
                        (snapshot, last) -> new RebalancePlanner.Result(Placement.empty(3), null)),
                spoilt("everything on one", (snapshot, answer) -> {
                    Arrays.fill(answer.active(), 0);
                    Arrays.fill(answer.standby(), new int[] {0});
                }),
                spoilt("a task left out", (snapshot, answer) -> answer.active()[3] = -1),
                spoilt("an unknown process", (snapshot, answer) -> answer.active()[3] = 99),
                spoilt("everything left out", (snapshot, answer) -> Arrays.fill(answer.active(), -1)),
                spoilt(
                        "a standby in the process of its active",
                        (snapshot, answer) -> answer.addStandby(2, answer.active()[2])),
                spoilt("a standby without changelog", (snapshot, answer) -> {
                    int stateless = snapshot.taskIndex("1_0");
                    answer.addStandby(stateless, (answer.active()[stateless] + 1) % snapshot.clientCount());
                }),
                spoilt("a standby twice", (snapshot, answer) -> answer.addWarmup(2, answer.standby()[2][0])));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("planners")
    void ifThePlannerFailsMembersKeepTheirTasks(String what, Planning.Planner planner) {
        BrokerTestGroup group = newGroup();
        var assignor = new OptassignGroupAssignor(planner, new GroupMemory());
        Map<String, String> before = group.owners();
        try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
            assertEquals(0, group.assign(assignor), what);
            assertEquals(1, log.count("the previous assignment is kept"), what);
        }
        group.remove("b");
        group.assign(assignor);
        before.forEach((task, process) ->
                assertTrue(process.equals("b") || process.equals(group.owners().get(task)), task + " did not stay"));
        List<Integer> counts = group.counts(true);
        assertTrue(counts.stream().allMatch(count -> count > 0), () -> "not to the least loaded: " + counts);
    }

    @Test
    void anInvalidMemoryDoesNoHarm() {
        BrokerTestGroup group = newGroup();
        GroupMemory memory = new GroupMemory();
        var assignor = new OptassignGroupAssignor(Planning.Planner.DEFAULT, memory);
        group.assign(assignor);
        BrokerGroup read = new BrokerGroup(group.toSpec(), group);
        var nonsense = List.of(new Answer.Client("?", List.of("0_1", "9_9", ""), List.of("0_1"), List.of("0_1"), 5L));
        var answer = new Answer("?", nonsense, nonsense, List.of(new Answer.Progress("0_1", "a", -7, -3, -1)));
        var profiles = Map.of("a", new ClientProfile(-5, true, List.of(7)));
        var applied = new AppliedAnswer("", -1, answer, profiles, Map.of("9_9", Set.of("?")), 0, true);
        Map<String, int[]> everything = new HashMap<>();
        group.members().keySet().forEach(id -> everything.put(id, new int[] {0, 0, 99, -1, 3}));
        String topology = read.tasks().toString();
        double[] ends = new double[read.tasks().size()];
        memory.remember(
                read,
                new GroupMemory.Remembered(
                        applied,
                        everything,
                        everything,
                        Map.of(),
                        Map.of(),
                        ends,
                        topology,
                        0,
                        false,
                        false,
                        "",
                        null));
        group.assign(assignor);
        memory.remember(
                read,
                new GroupMemory.Remembered(
                        null, Map.of(), Map.of(), Map.of(), Map.of(), ends, topology, 0, false, false, "", null));
        group.assign(assignor);
        memory.remember(
                read,
                new GroupMemory.Remembered(
                        applied,
                        everything,
                        everything,
                        Map.of(),
                        Map.of(),
                        ends,
                        "another",
                        0,
                        false,
                        false,
                        "",
                        null));
        group.assign(assignor);
    }

    @Test
    void invalidOffsetsDoNoHarm() {
        BrokerTestGroup group = newGroup();
        var assignor = BrokerTestGroup.newAssignor();
        var a = group.member("a0");
        a.report("0", 1, -99, Long.MAX_VALUE);
        a.report("0", 2, Long.MAX_VALUE, -1);
        a.report("0", 3, Long.MIN_VALUE, Long.MIN_VALUE);
        a.report("0", 99, 5, 5);
        a.report("none", 0, 5, 5);
        a.report("1", 0, 5, 5);
        group.assign(assignor);
        group.process("d", 2);
        group.assign(assignor);
    }

    @Test
    void tasksThatTheTopologyDoesNotHaveAreDropped() {
        BrokerTestGroup group = newGroup();
        var assignor = BrokerTestGroup.newAssignor();
        group.member("a0").active.put("gone", Set.of(0, 1));
        group.member("a1").standby.put("0", Set.of(77, -1));
        group.assign(assignor);
        Planning.Planner failing = (snapshot, last) -> {
            throw new IllegalStateException("a bug");
        };
        group.member("a0").active.put("gone", Set.of(0, 1));
        group.assign(new OptassignGroupAssignor(failing, new GroupMemory()));
    }

    @Test
    void aTaskOfTwoMembersStaysWithOne() {
        BrokerTestGroup group = newGroup();
        group.member("a0").active.put("0", Set.of(0, 1, 2));
        group.member("b0").active.put("0", Set.of(0, 1, 2));
        group.assign(BrokerTestGroup.newAssignor());
    }

    @Test
    void anEmptyTopologyHasNoTasks() {
        BrokerTestGroup group = new BrokerTestGroup(1).process("a", 2).process("b", 1);
        group.assign(new OptassignGroupAssignor());
        assertEquals(List.of(0, 0, 0), group.counts(true));
    }

    @Test
    void aGroupWithoutMembersHasAnEmptyAnswer() {
        BrokerTestGroup group = new BrokerTestGroup(1).logged("0", 3);
        assertEquals(
                Map.of(),
                new OptassignGroupAssignor().assign(group.toSpec(), group).members());
    }

    @Test
    void aSubtopologyWithUnknownPartitionsHasNoTasks() {
        BrokerTestGroup group = new BrokerTestGroup(0).process("a", 1);
        TopologyDescriber unknown = new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return List.of("0");
            }

            @Override
            public int maxNumInputPartitions(String subtopology) {
                throw new NoSuchElementException();
            }

            @Override
            public boolean isStateful(String subtopology) {
                return true;
            }
        };
        GroupAssignment answer = new OptassignGroupAssignor().assign(group.toSpec(), unknown);
        assertEquals(Set.of("a0"), answer.members().keySet());
    }

    @Test
    void anUnreadableGroupKeepsItsTasks() {
        BrokerTestGroup group = newGroup();
        GroupSpec real = group.toSpec();
        GroupSpec broken = new GroupSpec() {
            @Override
            public Collection<String> memberIds() {
                return real.memberIds();
            }

            @Override
            public MemberAssignmentMetadata memberMetadata(String id) {
                throw new IllegalStateException("a bug of Kafka's");
            }

            @Override
            public MemberAssignmentState memberAssignmentState(String id) {
                return real.memberAssignmentState(id);
            }

            @Override
            public AssignmentConfigs configs() {
                return real.configs();
            }
        };
        group.check(new OptassignGroupAssignor().assign(broken, group));
    }
}
