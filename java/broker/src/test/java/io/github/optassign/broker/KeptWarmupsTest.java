package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.opinion.OpinionRequests;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * Members do not report the lengths of their own actives' changelogs. Without standbys only warm-ups have known
 * lengths. A task of unknown length must not seem cheaper than a half-restored one.
 */
class KeptWarmupsTest {
    private static final long END = 1_000_000;

    private final OptassignGroupAssignor assignor = BrokerTestGroup.newAssignor();
    private final BrokerTestGroup group = new BrokerTestGroup(0)
            .logged("0", 12)
            .stateless("1", 6)
            .process("a", 2)
            .process("b", 2)
            .process("c", 2);

    @Test
    void halfRestoredWarmupsStayWhenAnotherHasCaughtUp() {
        group.assign(assignor);
        group.reportOffsetsAsStreamsDoes(END, 0);
        group.assign(assignor);
        group.process("d", 2);
        group.assign(assignor);
        Set<Integer> warmups = listWarmups();
        assertEquals(3, warmups.size());
        int first = warmups.iterator().next();
        group.members().values().forEach(member -> {
            member.forgetOffsets();
            member.standby
                    .getOrDefault("0", Set.of())
                    .forEach(p -> member.report("0", p, p == first ? END : END / 2, END));
        });
        group.assign(assignor);
        assertEquals("d", group.owners().get("0_" + first));
        warmups.remove(first);
        assertEquals(warmups, listWarmups());
    }

    private Set<Integer> listWarmups() {
        Set<Integer> found = new TreeSet<>();
        group.members().values().forEach(member -> found.addAll(member.standby.getOrDefault("0", Set.of())));
        return found;
    }

    /** Unknown lengths are guessed by known ones; a short one must not make an empty disk seem caught up. */
    @Test
    void noTaskOfUnknownLengthMovesBeforeItsStateIsRestored() {
        BrokerTestGroup some = new BrokerTestGroup(0)
                .logged("0", 4)
                .logged("1", 12)
                .process("a", 2)
                .process("b", 2);
        some.assign(assignor);
        some.reportOffsetsAsStreamsDoes(END, 0);
        some.process("c", 2);
        some.assign(assignor);
        some.members().values().forEach(member -> {
            member.forgetOffsets();
            member.standby.getOrDefault("0", Set.of()).forEach(p -> member.report("0", p, 500, 500));
        });
        some.process("d", 2);
        some.assign(assignor);
        assertEquals(
                0,
                some.owners().entrySet().stream()
                        .filter(owned -> owned.getKey().startsWith("1_"))
                        .filter(owned -> Set.of("c", "d").contains(owned.getValue()))
                        .count());
    }

    /** With one thread per process and no standbys, nobody has an offset to report. */
    @Test
    void aGroupWithNothingToReportWarmsUpAndALostReportIsAwaited() {
        AtomicLong now = new AtomicLong(1_000_000_000_000L);
        OptassignGroupAssignor clocked = newClocked(now);
        BrokerTestGroup single =
                new BrokerTestGroup(0).logged("0", 12).process("a", 1).process("b", 1);
        single.assign(clocked);
        now.addAndGet(2 * Planning.KEEP_NANOS);
        single.process("c", 1);
        assertEquals(0, single.assign(clocked), "its warm-ups come first");
        single.reportOffsetsAsStreamsDoes(END, END / 2);
        single.assign(clocked);
        single.members().values().forEach(BrokerTestGroup.TestMember::forgetOffsets);
        now.addAndGet(2 * Planning.KEEP_NANOS);
        assertEquals(0, single.assign(clocked), "a coordinator that regains a group has no reports yet");
        now.addAndGet(2 * Planning.KEEP_NANOS);
        assertTrue(single.assign(clocked) > 0, "clients before 4.4 report nothing");
    }

    @Test
    void aCoordinatorThatRegainsAGroupAwaitsReports() {
        AtomicLong now = new AtomicLong(1_000_000_000_000L);
        OptassignGroupAssignor first = newClocked(now);
        OptassignGroupAssignor second = newClocked(now);
        BrokerTestGroup some =
                new BrokerTestGroup(1).logged("0", 12).process("a", 1).process("b", 1);
        some.assign(first);
        now.addAndGet(2 * Planning.KEEP_NANOS);
        some.process("c", 1);
        assertEquals(0, some.assign(second), "a new coordinator has no reports yet");
        now.addAndGet(2 * Planning.KEEP_NANOS);
        assertTrue(some.assign(second) > 0, "members report nothing");
        some.process("d", 1);
        assertEquals(0, some.assign(first), "its memory is out of date");
        now.addAndGet(2 * Planning.KEEP_NANOS);
        assertTrue(some.assign(first) > 0);
    }

    private static OptassignGroupAssignor newClocked(AtomicLong now) {
        return new OptassignGroupAssignor(
                Planning.Planner.DEFAULT, new GroupMemory(), OpinionRequests.SHARED, now::get);
    }
}
