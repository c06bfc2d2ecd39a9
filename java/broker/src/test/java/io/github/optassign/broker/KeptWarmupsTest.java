package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import java.util.TreeSet;
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
}
