package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.opinion.OpinionRequests;
import io.github.optassign.testing.Cases;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A leaving process loses its threads one by one; another process may lose a thread and live on. */
class LeavingProcessesTest {
    private static final long END = 1_000_000;
    private static final int THREADS = 2;

    private long nanos;
    private final OptassignGroupAssignor assignor =
            new OptassignGroupAssignor(Planning.Planner.DEFAULT, new GroupMemory(), new OpinionRequests(), () -> nanos);

    /** A real application with this history once moved an active task between two processes that stayed. */
    @ParameterizedTest(name = "offsets are sent: {0}")
    @ValueSource(booleans = {true, false})
    void nothingMovesBetweenProcessesThatStay(boolean hasOffsets) {
        for (int seed = 0; seed < Cases.count(10); seed++) {
            Random random = new Random(seed);
            OptassignGroupAssignor fresh = BrokerTestGroup.newAssignor();
            BrokerTestGroup group =
                    new BrokerTestGroup(1).logged("0", 12).stateless("1", 12).stateless("2", 12);
            List<String> names = new ArrayList<>();
            for (String letter : List.of("a", "b", "c")) {
                names.add(Integer.toHexString(random.nextInt()) + letter);
                join(group, names.get(names.size() - 1), random);
                settle(group, fresh, hasOffsets);
            }
            for (String gone : List.of(names.get(2), names.get(1))) {
                Map<String, String> before = group.owners();
                Map<String, Set<String>> standbys = group.standbyProcesses();
                for (String id : listThreads(group, gone, random)) {
                    group.members().remove(id);
                    group.assign(fresh);
                }
                Map<String, String> after = group.owners();
                String history = "seed " + seed + ": " + gone + " leaves " + names;
                before.forEach((task, owner) -> {
                    if (!owner.equals(gone)) {
                        assertEquals(owner, after.get(task), () -> history + ", " + task);
                    } else if (standbys.containsKey(task)) {
                        assertEquals(standbys.get(task), Set.of(after.get(task)), () -> history + ", " + task);
                    }
                });
                join(group, gone, random);
                settle(group, fresh, hasOffsets);
            }
        }
    }

    @Test
    void tasksOfALostThreadAreServedAtOnce() {
        BrokerTestGroup group = newSettledGroup();
        Map<String, Set<String>> standbys = group.standbyProcesses();
        Set<String> lost = new HashSet<>();
        group.member("b0").active.forEach((g, partitions) -> partitions.forEach(p -> lost.add(g + "_" + p)));

        group.members().remove("b0");
        assertEquals(0, group.assign(assignor), "tasks with an owner stay");
        group.owners().forEach((task, owner) -> {
            if (lost.contains(task) && standbys.containsKey(task)) {
                assertEquals(standbys.get(task), Set.of(owner), () -> task + " goes to its standby");
            }
        });
        group.standbyProcesses().forEach((task, processes) -> assertEquals(1, processes.size(), task));
        assertEquals(standbys.keySet(), group.standbyProcesses().keySet(), "every task has its standby again");
    }

    @Test
    void tasksInTransitArriveThoughNoMemberListsThem() {
        BrokerTestGroup group = newSettledGroup();
        group.process("d", THREADS);
        GroupAssignment given = assignor.assign(group.toSpec(), group);
        Map<String, String> planned = listOwners(group, given);
        assertTrue(planned.containsValue("d"), "stateless tasks move at once");
        // No member has accepted the answer yet, so Kafka lists the previous tasks.
        group.members().remove("b0");
        given.members()
                .get("b0")
                .activeTasks()
                .forEach((g, partitions) -> partitions.forEach(p -> planned.remove(g + "_" + p)));
        Map<String, String> next = listOwners(group, assignor.assign(group.toSpec(), group));
        planned.forEach((task, owner) -> assertEquals(owner, next.get(task), task));
    }

    private static Map<String, String> listOwners(BrokerTestGroup group, GroupAssignment given) {
        Map<String, String> owners = new TreeMap<>();
        given.members()
                .forEach((id, tasks) -> tasks.activeTasks()
                        .forEach((g, partitions) ->
                                partitions.forEach(p -> owners.put(g + "_" + p, group.member(id).process))));
        return owners;
    }

    @Test
    void aLivingProcessIsCountedByItsThreadsAtTheNextCall() {
        BrokerTestGroup group = newSettledGroup();
        group.members().remove("b0");
        group.assign(assignor);
        for (int i = 0; i < 6; i++) {
            group.reportOffsets(END, 0);
            group.assign(assignor);
        }
        Map<String, Integer> counts = count(group);
        assertEquals(Map.of("a", 10, "b", 5, "c", 10), counts, "25 tasks on five threads");
        assertEquals(0, group.assign(assignor), "and rests");
    }

    @Test
    void aProcessThatHasRestartedDoesNotLeave() {
        BrokerTestGroup group =
                new BrokerTestGroup(0).logged("0", 4).process("a", 2).process("b", 3);
        long later = LeavingProcesses.STARTING_NANOS + 1;
        assertEquals(Set.of("b"), findLeaving(group, Map.of("b3", 0L)), "a thread of the same start");
        assertEquals(Set.of("b"), findLeaving(group, Map.of("b3", later)), "the latest thread");
        assertEquals(Set.of(), findLeaving(group, Map.of("b3", -later)), "the remaining threads have come later");
        assertEquals(
                Set.of("b"), findLeaving(group, Map.of("b3", -later, "b4", 0L)), "one of the lost threads has not");
        assertEquals(Set.of(), findLeaving(group, Map.of("c0", 0L)), "c has left already");
        assertEquals(Set.of(), findLeaving(group, Map.of("a2", 0L, "b3", 0L)), "all of them leave");
        Map<String, GroupMemory.KnownThread> withoutB0 = Map.of(
                "a0", new GroupMemory.KnownThread("a", 0),
                "a1", new GroupMemory.KnownThread("a", 0),
                "b1", new GroupMemory.KnownThread("b", 0),
                "b2", new GroupMemory.KnownThread("b", 0),
                "b3", new GroupMemory.KnownThread("b", 0));
        assertEquals(Set.of(), LeavingProcesses.findLeaving(read(group), withoutB0), "b0 has come");
    }

    /**
     * Returns the leaving processes of a group whose members joined at 0.
     *
     * @param gone the lost members, with the times at which they joined
     */
    private static Set<String> findLeaving(BrokerTestGroup group, Map<String, Long> gone) {
        Map<String, GroupMemory.KnownThread> last = new HashMap<>();
        group.members().forEach((id, member) -> last.put(id, new GroupMemory.KnownThread(member.process, 0)));
        gone.forEach((id, since) -> last.put(id, new GroupMemory.KnownThread(id.substring(0, 1), since)));
        return LeavingProcesses.findLeaving(read(group), last);
    }

    private static BrokerGroup read(BrokerTestGroup group) {
        return new BrokerGroup(group.toSpec(), group);
    }

    /** The test sets the assignor's clock. */
    @Test
    void aRestartedProcessIsBalancedWhenItsFormerThreadsAreLost() {
        Map<String, Integer> counts = comeBack(LeavingProcesses.STARTING_NANOS + 1);
        assertTrue(counts.get("b") > comeBack(0).get("b"), () -> "of 25: " + counts);
    }

    private Map<String, Integer> comeBack(long afterNanos) {
        BrokerTestGroup group = newSettledGroup();
        nanos += afterNanos;
        for (int i = THREADS; i < 2 * THREADS; i++) {
            group.members().put("b" + i, new BrokerTestGroup.TestMember("b"));
            group.assign(assignor);
        }
        for (int i = 0; i < THREADS; i++) {
            group.members().remove("b" + i);
            group.reportOffsets(END, 0);
            group.assign(assignor);
        }
        return count(group);
    }

    @Test
    void aProcessThatJoinsInTheSameCallGetsItsShare() {
        BrokerTestGroup group = newSettledGroup();
        group.members().remove("b0");
        group.process("d", THREADS);
        for (int i = 0; i < 6; i++) {
            group.assign(assignor);
            group.reportOffsets(END, 0);
            if (i == 0) {
                assertTrue(count(group).get("d") > 0, "stateless tasks move at once");
            }
        }
        assertTrue(count(group).get("d") >= 7, () -> "of 25 tasks on seven threads: " + count(group));
    }

    private BrokerTestGroup newSettledGroup() {
        BrokerTestGroup group = new BrokerTestGroup(1).logged("0", 15).stateless("1", 10);
        List.of("a", "b", "c").forEach(process -> group.process(process, THREADS));
        settle(group, assignor, true);
        return group;
    }

    private static void join(BrokerTestGroup group, String process, Random random) {
        for (int i = 0; i < THREADS; i++) {
            group.members().put(process + random.nextLong(), new BrokerTestGroup.TestMember(process));
        }
    }

    private static List<String> listThreads(BrokerTestGroup group, String process, Random random) {
        List<String> ids = new ArrayList<>();
        new TreeMap<>(group.members()).forEach((id, member) -> {
            if (member.process.equals(process)) {
                ids.add(id);
            }
        });
        Collections.shuffle(ids, random);
        return ids;
    }

    private static void settle(BrokerTestGroup group, OptassignGroupAssignor assignor, boolean hasOffsets) {
        for (int i = 0; i < 8; i++) {
            group.assign(assignor);
            if (hasOffsets) {
                group.reportOffsets(END, 0);
            }
        }
    }

    private static Map<String, Integer> count(BrokerTestGroup group) {
        Map<String, Integer> counts = new HashMap<>();
        group.owners().values().forEach(owner -> counts.merge(owner, 1, Integer::sum));
        return counts;
    }
}
