package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.testing.LogLines;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The assignments of a group from call to call, in the coordinator's own classes. */
class OptassignGroupAssignorTest {
    private static final long END = 1_000_000;

    private final OptassignGroupAssignor assignor = BrokerTestGroup.newAssignor();

    @AfterEach
    void forget() {
        OptassignGroupAssignor.forgetWarmups();
    }

    private BrokerTestGroup settled(int standbys, String... processes) {
        BrokerTestGroup group = new BrokerTestGroup(standbys).logged("0", 12).stateless("1", 4);
        for (String process : processes) {
            group.process(process, 2);
        }
        group.assign(assignor);
        group.reportOffsets(END, 0);
        assertEquals(0, group.assign(assignor));
        return group;
    }

    /** Returns two processes at rest that a third has joined. */
    private BrokerTestGroup joined(int standbys) {
        BrokerTestGroup group = settled(standbys, "a", "b");
        group.process("c", 2);
        group.assign(assignor);
        return group;
    }

    private static void assertEven(List<Integer> counts) {
        assertTrue(Collections.max(counts) - Collections.min(counts) <= 1, () -> "uneven: " + counts);
    }

    @Test
    void aColdStartSpreadsEverythingOverProcessesAndThreads() {
        BrokerTestGroup group = settled(1, "a", "b");
        assertEven(group.counts(true));
        assertEven(group.counts(false));
        assertEquals(12, group.standbyProcesses().size());
    }

    /**
     * The watcher's mark is a tag with the same value everywhere, so it does not affect placement
     * (docs/how-to/broker.md).
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void tasksOfADeadProcessGoToManyWithAndWithoutTheMark(boolean isMarked) {
        BrokerTestGroup group = new BrokerTestGroup(1).logged("0", 100);
        for (int c = 0; c < 10; c++) {
            group.process("p" + c, 2);
        }
        group.members().values().forEach(member -> member.tags = Map.of("optassign", "orders"));
        group.tagKeys = isMarked ? List.of("optassign") : List.of();
        group.assign(assignor);
        Map<String, Integer> standbys = new HashMap<>();
        Map<String, String> owners = group.owners();
        group.standbyProcesses()
                .forEach((task, processes) -> processes.forEach(
                        process -> standbys.merge(owners.get(task) + " " + process, 1, Integer::sum)));
        assertTrue(Collections.max(standbys.values()) <= 2, () -> "a process takes over most of another: " + standbys);
    }

    /** One of twelve changelogs is twice as large as the others together, so its thread has few other tasks. */
    @Test
    void threadsHaveBalancedLoadsIfTasksAreWeighed() {
        assignor.configure(Map.of("optassign.weights", "changelog"));
        BrokerTestGroup group = settled(0, "a");
        group.reportOffsets(END, 0);
        group.members()
                .values()
                .forEach(member -> member.endOffsets
                        .values()
                        .forEach(ends -> ends.replaceAll((partition, end) -> partition == 0 ? 23 * END : end)));
        group.assign(assignor);
        assertTrue(countWithHeavy(group) <= 2, "six would be even by numbers");
        group.members().values().forEach(BrokerTestGroup.TestMember::forgetOffsets);
        group.assign(assignor);
        assertTrue(countWithHeavy(group) <= 2, "members without standbys report no changelogs");
    }

    private static int countWithHeavy(BrokerTestGroup group) {
        return group.members().values().stream()
                .map(member -> member.active.getOrDefault("0", Set.of()))
                .filter(partitions -> partitions.contains(0))
                .mapToInt(Set::size)
                .sum();
    }

    @Test
    void aNewProcessWarmsUpBeforeItGetsTasksWithState() {
        BrokerTestGroup group = settled(0, "a", "b");
        group.process("c", 2);
        Map<String, String> before = group.owners();
        group.assign(assignor);
        before.forEach((task, process) -> assertTrue(
                task.startsWith("1_") || process.equals(group.owners().get(task)), task + " moved without its state"));
        Set<String> warmedUp = new HashSet<>(group.standbyProcesses().keySet());
        assertEquals(4, warmedUp.size(), "a third of 12");
        group.reportOffsets(END, 20_000);
        assertEquals(0, group.assign(assignor), "a lag above the acceptable one moves nothing");
        assertEquals(warmedUp, group.standbyProcesses().keySet());
        group.reportOffsets(END, 10_000);
        assertEquals(4, group.assign(assignor));
        warmedUp.forEach(task -> assertEquals("c", group.owners().get(task)));
        assertEquals(Map.of(), group.standbyProcesses());
        assertEven(group.counts(true));
    }

    @Test
    void aNewProcessRestoresActivesBeforeStandbys() {
        BrokerTestGroup group = settled(1, "a", "b", "c");
        group.process("d", 2);
        group.assign(assignor);
        long begun = group.standbyProcesses().values().stream()
                .filter(processes -> processes.contains("d"))
                .count();
        assertEquals(4, begun, "three next actives, and one standby for a thread without other work");
        group.standbyProcesses()
                .forEach((task, processes) ->
                        assertTrue(processes.stream().anyMatch(each -> !each.equals("d")), task + " has no standby"));
        group.reportOffsets(END, 0);
        assertEquals(3, group.assign(assignor), "a quarter of 12");
        for (int call = 0; call < 4; call++) {
            group.reportOffsets(END, 0);
            group.assign(assignor);
        }
        assertEven(group.counts(true));
        assertEven(group.counts(false));
        group.standbyProcesses().forEach((task, processes) -> assertEquals(1, processes.size(), task));
    }

    @Test
    void aMissingStandbyDoesNotWait() {
        BrokerTestGroup group = settled(0, "a", "b", "c");
        group.standbys = 1;
        group.process("d", 2);
        group.assign(assignor);
        group.tasks().stream()
                .filter(task -> task.startsWith("0_"))
                .forEach(task -> assertTrue(
                        group.standbyProcesses().containsKey(task), task + " has neither standby nor warm-up"));
    }

    @Test
    void theThreadWithTheStateTakesOverTheTask() {
        BrokerTestGroup group = joined(0);
        Map<String, Set<Integer>> restored = Map.of("c0", threadsTasks(group, "c0"), "c1", threadsTasks(group, "c1"));
        for (String thread : List.of("c0", "c1")) {
            // One thread reports that it has caught up before the other.
            group.reportOffsets(END, 20_000);
            restored.get(thread).forEach(p -> group.member(thread).report("0", p, END, END));
            group.assign(assignor);
            assertEquals(restored.get(thread), group.member(thread).active.get("0"));
        }
        assertEven(group.counts(true));
    }

    @Test
    void anIdleThreadTakesACopyThatAnotherHasToRestore() {
        BrokerTestGroup group = joined(0);
        Set<Integer> done = threadsTasks(group, "c0");
        Set<Integer> other = threadsTasks(group, "c1");
        assertEquals(2, other.size());
        restoreTasksOf(group, "c0", END / 2);
        assertEquals(done, group.member("c0").active.get("0"));
        assertEquals(1, threadsTasks(group, "c0").size(), "a copy of the other thread, with half left to restore");
        assertEquals(1, threadsTasks(group, "c1").size());
        group.reportOffsets(END, END / 5);
        Set<Integer> kept = threadsTasks(group, "c0");
        group.assign(assignor);
        assertEquals(kept, threadsTasks(group, "c0"), "where it is now, it stays");
        group.reportOffsets(END, 0);
        group.assign(assignor);
        assertEven(group.counts(true));
    }

    @Test
    void aNearlyRestoredCopyStaysOnItsThread() {
        BrokerTestGroup group = joined(0);
        Set<Integer> other = threadsTasks(group, "c1");
        restoreTasksOf(group, "c0", END / 5);
        assertEquals(other, threadsTasks(group, "c1"));
    }

    @Test
    void tasksAreSharedWithANewThread() {
        BrokerTestGroup group = settled(0, "a", "b");
        group.process("c", 1);
        group.assign(assignor);
        int before = threadsTasks(group, "c0").size();
        assertTrue(before >= 2);
        group.members().put("c1", new BrokerTestGroup.TestMember("c"));
        group.assign(assignor);
        int first = threadsTasks(group, "c0").size();
        int second = threadsTasks(group, "c1").size();
        assertTrue(Math.abs(first - second) <= 1, first + " and " + second);
    }

    /** Reports that one thread has restored its tasks and other standbys lag by {@code left}, and assigns. */
    private void restoreTasksOf(BrokerTestGroup group, String thread, long left) {
        group.reportOffsets(END, left);
        threadsTasks(group, thread).forEach(p -> group.member(thread).report("0", p, END, END));
        group.assign(assignor);
    }

    private static Set<Integer> threadsTasks(BrokerTestGroup group, String thread) {
        return new HashSet<>(group.member(thread).standby.get("0"));
    }

    @Test
    void aLeavingProcessIsReplacedByItsStandbys() {
        BrokerTestGroup group = settled(1, "a", "b", "c");
        Map<String, Set<String>> standbys = group.standbyProcesses();
        Map<String, String> before = group.owners();
        group.remove("c");
        group.assign(assignor);
        before.forEach((task, process) -> {
            if (process.equals("c") && task.startsWith("0_")) {
                assertTrue(
                        standbys.get(task).contains(group.owners().get(task)), task + " is not where its standby was");
            }
        });
        assertEquals(12, group.standbyProcesses().size());
    }

    @Test
    void aProcessThatReturnsWithStateGetsItsTasksBack() {
        BrokerTestGroup group = settled(0, "a", "b");
        group.remove("b");
        group.assign(assignor);
        group.reportOffsets(END, 0);
        // Copies that the others had to restore from the start lag far behind; the disk of b does not.
        group.members().values().forEach(member -> member.offsets.values().forEach(of -> of.replaceAll((p, o) -> 0L)));
        group.process("b", 2);
        for (int p = 0; p < 12; p++) {
            group.member("b0")
                    .offsets
                    .computeIfAbsent("0", none -> new HashMap<>())
                    .put(p, END - 5);
        }
        group.assign(assignor);
        group.tasks().stream()
                .filter(task -> task.startsWith("0_"))
                .forEach(task -> assertEquals("b", group.owners().get(task), task));
    }

    @Test
    void anUnknownLagMovesNothing() {
        BrokerTestGroup group = joined(1);
        Map<String, String> before = group.owners();
        // Owners report offsets, members with warm-ups do not.
        group.reportOffsets(END, 0);
        group.members().forEach((id, member) -> {
            if (member.process.equals("c")) {
                member.forgetOffsets();
            }
        });
        group.assign(assignor);
        before.forEach((task, process) -> assertEquals(process, group.owners().get(task), task));
    }

    @Test
    void theOffsetZeroOfAnotherThreadsTaskIsIgnored() {
        BrokerTestGroup group = settled(1, "a", "b");
        group.reportOffsetsAsStreamsDoes(END, 0);
        assertEquals(0, group.assign(assignor), "all run, so nothing moves to its standby");
        group.process("c", 2);
        group.assign(assignor);
        group.reportOffsetsAsStreamsDoes(END, 0);
        Map<String, String> before = group.owners();
        group.assign(assignor);
        group.owners()
                .forEach((task, process) -> assertTrue(
                        process.equals("c") || process.equals(before.get(task)), task + " moved between the old ones"));
        assertEven(group.counts(true));
    }

    @Test
    void aStaticMemberThatRestartsHasTheTasksOfItsThreadsBack() {
        BrokerTestGroup group = settled(1, "a", "b", "c");
        group.members().forEach((id, member) -> member.instance = id);
        assertEquals(0, group.assign(assignor));
        Map<String, Object> before = tasksOfInstances(group);
        group.restart("a");
        group.reportOffsetsAsStreamsDoes(END, 0);
        assertEquals(0, group.assign(assignor));
        assertEquals(before, tasksOfInstances(group));
    }

    @Test
    void aStaticMemberThatRestartsWhileAThreadLeavesIsNoNewcomer() {
        BrokerTestGroup group = settled(0, "a", "b", "c");
        group.members().forEach((id, member) -> member.instance = id);
        group.assign(assignor);
        Map<String, String> before = group.owners();
        group.restart("a");
        Set<String> lost = new HashSet<>();
        group.member("c1").active.forEach((g, partitions) -> partitions.forEach(p -> lost.add(g + "_" + p)));
        group.members().remove("c1");
        group.assign(assignor);
        before.forEach((task, process) ->
                assertTrue(lost.contains(task) || process.equals(group.owners().get(task)), task + " moved"));
    }

    @Test
    void instanceIdsOfTwoGroupsAreNotMixedUp() {
        BrokerTestGroup one = settled(1, "a", "b");
        BrokerTestGroup other = settled(1, "x", "y");
        one.member("a0").instance = "host-1";
        other.member("x0").instance = "host-1";
        one.assign(assignor);
        other.assign(assignor);
        Map<String, Object> before = tasksOfInstances(one);
        assertEquals(0, one.assign(assignor));
        assertEquals(before, tasksOfInstances(one));
    }

    private static Map<String, Object> tasksOfInstances(BrokerTestGroup group) {
        Map<String, Object> tasks = new TreeMap<>();
        group.members()
                .forEach((id, member) -> tasks.put(
                        member.instance == null ? id : member.instance, List.of(member.active, member.standby)));
        return tasks;
    }

    @Test
    void withoutOffsetsTasksMoveAtOnceAndThatIsLoggedOnce() {
        BrokerTestGroup group = new BrokerTestGroup(0).logged("0", 12).process("a", 2);
        try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
            group.assign(assignor);
            group.process("b", 2);
            assertEquals(6, group.assign(assignor));
            group.assign(assignor);
            assertEquals(1, log.count("has sent no offsets so far"));
        }
    }

    @Test
    void anExistingGroupStaysUntilItsOffsetsHaveCome() {
        BrokerTestGroup group = settled(0, "a", "b");
        group.members().values().forEach(BrokerTestGroup.TestMember::forgetOffsets);
        group.process("c", 2);
        Map<String, String> before = group.owners();
        var afterFailover = BrokerTestGroup.newAssignor();
        group.assign(afterFailover);
        before.forEach((task, process) -> assertTrue(
                task.startsWith("1_") || process.equals(group.owners().get(task)), task + " moved without its state"));
    }

    @Test
    void aGroupAtRestStaysSoAfterAFailover() {
        BrokerTestGroup group = settled(1, "a", "b", "c");
        group.members().values().forEach(BrokerTestGroup.TestMember::forgetOffsets);
        Map<String, Set<String>> standbys = group.standbyProcesses();
        var afterFailover = BrokerTestGroup.newAssignor();
        assertEquals(0, group.assign(afterFailover));
        assertEquals(standbys, group.standbyProcesses());
        group.reportOffsets(END, 0);
        assertEquals(0, group.assign(afterFailover));
        assertEquals(standbys, group.standbyProcesses());
    }

    @Test
    void noWarmUpsOnceTheBrokerHasItsOwn() {
        BrokerTestGroup group = settled(0, "a", "b");
        group.process("c", 2);
        group.member("a0").warmup = Map.of("0", Set.of(3));
        try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
            group.assign(assignor);
            assertEquals(1, log.count("warms up by itself"));
        }
        assertEquals(Map.of(), group.standbyProcesses());
        assertEven(group.counts(true));
        group.member("a0").warmup = Map.of();
        group.process("d", 2);
        group.assign(assignor);
        assertEquals(Map.of(), group.standbyProcesses(), "and never again");
    }

    @Test
    void anOperatorCanSwitchWarmingUpOff() {
        assignor.configure(Map.of("optassign.warmups", "false"));
        BrokerTestGroup group = joined(0);
        assertEquals(Map.of(), group.standbyProcesses());
        assertEven(group.counts(true));
    }

    @Test
    void warmUpsAreLimitedAndTheRestWaits() {
        assignor.configure(Map.of("optassign.max.warmup.replicas", 2));
        BrokerTestGroup group = settled(0, "a");
        group.process("b", 2);
        int calls = 0;
        while (Collections.max(group.counts(true)) > 4 && calls++ < 20) {
            group.assign(assignor);
            assertTrue(group.standbyProcesses().size() <= 2);
            group.reportOffsets(END, 0);
        }
        assertEven(group.counts(true));
    }

    @Test
    void tasksInTransitKeepTheirTarget() {
        BrokerTestGroup group = settled(1, "a", "b");
        group.process("c", 1);
        group.assign(assignor);
        group.reportOffsets(END, 0);
        group.assign(assignor);
        Map<String, String> answered = group.owners();
        // The old owners have revoked the tasks and the new owners do not have them yet, so no member lists them.
        Set<Integer> inTransit = group.member("c0").active.remove("0");
        assertFalse(inTransit.isEmpty());
        group.members().put("c1", new BrokerTestGroup.TestMember("c"));
        group.assign(assignor);
        inTransit.forEach(
                p -> assertEquals(answered.get("0_" + p), group.owners().get("0_" + p)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"optassign.drain", "optassign.draining"})
    void aDrainingProcessGivesItsWorkAway(String tag) {
        BrokerTestGroup group = settled(0, "a", "b", "c");
        group.members()
                .forEach((id, member) -> member.tags = member.process.equals("c") ? Map.of(tag, "true") : Map.of());
        for (int call = 0; call < 4; call++) {
            group.assign(assignor);
            group.reportOffsets(END, 0);
        }
        assertFalse(group.owners().containsValue("c"));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void answersAreValidAndTheGroupSettles(long seed) {
        Random random = new Random(seed);
        BrokerTestGroup group = new BrokerTestGroup(random.nextInt(3))
                .logged("0", 1 + random.nextInt(20))
                .stateless("1", random.nextInt(8))
                .logged("x", random.nextInt(10));
        group.process("p0", 1 + random.nextInt(3));
        for (int i = 1; i < 25; i++) {
            if (random.nextInt(3) > 0 || group.members().size() < 3) {
                group.process("p" + i, 1 + random.nextInt(3));
            } else {
                List<String> ids = List.copyOf(group.members().keySet());
                group.remove(group.member(ids.get(random.nextInt(ids.size()))).process);
            }
            if (group.members().isEmpty()) {
                group.process("q" + i, 1);
            }
            group.assign(assignor);
            if (random.nextBoolean()) {
                group.reportOffsets(END, random.nextInt(40_000));
            }
        }
        for (int call = 0; call < 60; call++) {
            group.assign(assignor);
            group.reportOffsets(END, 0);
        }
        Map<String, String> owners = group.owners();
        Map<String, Set<String>> standbys = group.standbyProcesses();
        assertEquals(0, group.assign(assignor), "seed " + seed);
        assertEquals(owners, group.owners(), "seed " + seed);
        assertEquals(standbys, group.standbyProcesses(), "seed " + seed);
        long processes = group.members().values().stream()
                .map(member -> member.process)
                .distinct()
                .count();
        int wanted = (int) Math.min(group.standbys, processes - 1);
        group.tasks().stream()
                .filter(task -> !task.startsWith("1_"))
                .forEach(task -> assertEquals(
                        wanted, standbys.getOrDefault(task, Set.of()).size(), "seed " + seed + " " + task));
    }
}
