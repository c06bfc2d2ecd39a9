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

/** A task loses its state where it runs; its standby elsewhere has all of it. */
class RestoringInPlaceTest {
    private static final long END = 1_000_000;

    private final OptassignGroupAssignor assignor =
            new OptassignGroupAssignor(Planning.Planner.OURS, new GroupMemory());
    private final BrokerTestGroup group =
            new BrokerTestGroup(1).logged("0", 12).process("a", 2).process("b", 2);
    private Map<String, String> before;
    private String thread;
    private int task;

    @BeforeEach
    void settle() {
        group.members().forEach((id, member) -> member.instance = id.startsWith("a") ? "host-" + id : null);
        group.assign(assignor);
        group.tellOffsetsAsStreamsDoes(END, 0);
        assertEquals(0, group.assign(assignor));
        assertEquals(0, group.assign(assignor));
        before = new TreeMap<>(group.owners());
        thread = "a0";
        task = group.member(thread).active.get("0").iterator().next();
    }

    private void tell(String id, long offset) {
        group.member(id).offsets.computeIfAbsent("0", none -> new HashMap<>()).put(task, offset);
    }

    private Set<String> moved() {
        Map<String, String> after = group.owners();
        Map<String, String> others = new TreeMap<>(before);
        others.entrySet().removeAll(after.entrySet());
        return others.keySet();
    }

    @Test
    void itRunsWhereItsStateIsUntilThatIsBack() {
        tell(thread, 0);
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
        assertEquals(Set.of("a"), group.standbyProcesses().get("0_" + task), "it restores where it was");

        group.tellOffsetsAsStreamsDoes(END, 0);
        group.assign(assignor);
        group.tellOffsetsAsStreamsDoes(END, 0);
        group.assign(assignor);
        List<Integer> counts = group.counts(true);
        assertEquals(List.of(3, 3, 3, 3), counts, "balanced again");
        assertEquals(0, group.assign(assignor));
    }

    /** As threads of Kafka Streams 4.4.0 tell it, and of a copy that waits an end that is no offset. */
    @Test
    void anEndThatIsNotKnownYetIsNone() {
        group.member(thread).tell("0", task, 0, END);
        group.members().values().stream()
                .filter(member -> member.standby.containsKey("0"))
                .forEach(member -> member.standby.get("0").stream()
                        .filter(p -> p != task)
                        .forEach(p -> member.tell("0", p, 0, Long.MAX_VALUE)));
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
    }

    @Test
    void whatWasBelievedIsStillBelievedOnceItHelps() {
        group.tellOffsetsAsStreamsDoes(END, 500_000);
        tell(thread, 50_000);
        assertEquals(0, group.assign(assignor), "its standby is behind");
        group.tellOffsetsAsStreamsDoes(END, 0);
        tell(thread, 50_000);
        group.assign(assignor);
        assertEquals(Set.of("0_" + task), moved());
    }

    /** It may be from before the thread had the task, which then has run for long. */
    @Test
    void whatTheThreadToldBeforeItHadTheTaskIsNotBelieved() {
        OptassignGroupAssignor other = new OptassignGroupAssignor(Planning.Planner.OURS, new GroupMemory());
        tell(thread, 50_000);
        for (int i = 0; i < 3; i++) {
            group.assign(other);
            assertEquals(Set.of(), moved());
        }
        tell(thread, 60_000);
        group.assign(other);
        assertEquals(Set.of("0_" + task), moved(), "another offset is from later");
    }

    @Test
    void whereNoOtherProcessHasTheStateItStays() {
        group.tellOffsetsAsStreamsDoes(END, 500_000);
        tell(thread, 0);
        group.assign(assignor);
        assertEquals(Set.of(), moved());
    }

    @Test
    void aTaskThatHasAlmostAllStays() {
        tell(thread, END - BrokerConfig.DEFAULT.acceptableLag());
        group.assign(assignor);
        assertEquals(Set.of(), moved());
    }

    /** The coordinator gives it a new id and calls no assignor; the watcher has it called. */
    @Test
    void aStaticMemberThatComesBackWithoutAStateIsBelieved() {
        group.restart("a");
        String successor = group.members().entrySet().stream()
                .filter(each -> each.getValue().instance != null
                        && each.getValue().instance.equals("host-a0"))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow();
        tell(successor, 40_000);
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
