package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An active task loses its state, while its standby in another process has all of it. */
class RestoringInPlaceTest {
    private static final long END = 1_000_000;

    private final OptassignGroupAssignor assignor = BrokerTestGroup.newAssignor();
    private final BrokerTestGroup group =
            new BrokerTestGroup(1).logged("0", 12).process("a", 2).process("b", 2);
    private Map<String, String> before;
    private String thread;
    private int task;

    @BeforeEach
    void settle() {
        group.members().forEach((id, member) -> member.instance = id.startsWith("a") ? "host-" + id : null);
        group.assign(assignor);
        group.reportOffsetsAsStreamsDoes(END, 0);
        assertEquals(0, group.assign(assignor));
        assertEquals(0, group.assign(assignor));
        before = new TreeMap<>(group.owners());
        thread = "a0";
        task = group.member(thread).active.get("0").iterator().next();
    }

    private void report(String id, long offset) {
        group.member(id).offsets.computeIfAbsent("0", none -> new HashMap<>()).put(task, offset);
    }

    private Set<String> moved() {
        Map<String, String> after = group.owners();
        Map<String, String> others = new TreeMap<>(before);
        others.entrySet().removeAll(after.entrySet());
        return others.keySet();
    }

    @Test
    void theTaskMovesToItsStateUntilItIsRestored() {
        report(thread, 0);
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
        assertEquals(Set.of("a"), group.standbyProcesses().get("0_" + task), "it restores where it was");

        group.reportOffsetsAsStreamsDoes(END, 0);
        group.assign(assignor);
        group.reportOffsetsAsStreamsDoes(END, 0);
        group.assign(assignor);
        List<Integer> counts = group.counts(true);
        assertEquals(List.of(3, 3, 3, 3), counts, "balanced again");
        assertEquals(0, group.assign(assignor));
    }

    /** Reports of threads of Kafka Streams 4.4.0, which give no real end offset for a copy that waits. */
    @Test
    void anUnknownEndOffsetIsIgnored() {
        group.member(thread).report("0", task, 0, END);
        group.members().values().stream()
                .filter(member -> member.standby.containsKey("0"))
                .forEach(member -> member.standby.get("0").stream()
                        .filter(p -> p != task)
                        .forEach(p -> member.report("0", p, 0, Long.MAX_VALUE)));
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
    }

    @Test
    void aCountedOffsetStillCountsOnceAStandbyIsReady() {
        group.reportOffsetsAsStreamsDoes(END, 500_000);
        report(thread, 50_000);
        assertEquals(0, group.assign(assignor), "its standby is behind");
        group.reportOffsetsAsStreamsDoes(END, 0);
        report(thread, 50_000);
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
    }

    /** The offset may date from before the thread got the task, which may have been running since. */
    @Test
    void offsetsFromBeforeTheAssignmentDoNotCount() {
        OptassignGroupAssignor other = BrokerTestGroup.newAssignor();
        report(thread, 50_000);
        for (int i = 0; i < 3; i++) {
            group.assign(other);
            assertEquals(Set.of(), moved());
        }
        report(thread, 60_000);
        group.assign(other);
        assertEquals(Set.of("0_" + task), moved(), "another offset is from later");
    }

    @Test
    void theTaskStaysIfNoOtherProcessHasItsState() {
        group.reportOffsetsAsStreamsDoes(END, 500_000);
        report(thread, 0);
        group.assign(assignor);
        assertEquals(Set.of(), moved());
    }

    @Test
    void aTaskThatIsNearlyRestoredStays() {
        report(thread, END - BrokerConfig.DEFAULT.acceptableLag());
        group.assign(assignor);
        assertEquals(Set.of(), moved());
    }

    /** The coordinator gives the member a new id without calling the assignor; the watcher triggers the call. */
    @Test
    void theOffsetOfARestartedStaticMemberWithoutStateCounts() {
        group.restart("a");
        String successor = group.members().entrySet().stream()
                .filter(each -> each.getValue().instance != null
                        && each.getValue().instance.equals("host-a0"))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow();
        report(successor, 40_000);
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
    }

    @Test
    void aStaticMemberOnANewDiskHasNoneOfTheState() {
        Map<String, BrokerTestGroup.TestMember> members = group.members();
        for (String id : List.of("a0", "a1")) {
            BrokerTestGroup.TestMember old = members.remove(id);
            group.processOnNewDisk(id + "-new", "a-new", old);
        }
        group.assign(assignor);
        Map<String, String> owners = group.owners();
        assertFalse(owners.containsValue("a-new"), () -> "a task with state waits for it: " + owners);
    }
}
