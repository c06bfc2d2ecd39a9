package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.opinion.OpinionRequests;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The memory of groups, found by members and bounded in size. */
class GroupMemoryTest {
    private final GroupMemory memory = new GroupMemory();

    private static BrokerGroup group(String... processes) {
        BrokerTestGroup group = new BrokerTestGroup(0).logged("0", 2);
        for (String process : processes) {
            group.process(process, 1);
        }
        return new BrokerGroup(group.toSpec(), group);
    }

    private static GroupMemory.Remembered remembered(BrokerGroup group, int tasks) {
        Map<String, int[]> active = new HashMap<>();
        group.members().forEach(member -> active.put(member.id(), new int[tasks]));
        return new GroupMemory.Remembered(
                null, active, Map.of(), Map.of(), Map.of(), new double[0], "", 0, false, false, "", null);
    }

    @Test
    void aGroupIsKnownByAnyOfItsMembers() {
        var first = remembered(group("a", "b"), 1);
        memory.remember(group("a", "b"), first);
        assertSame(first, memory.find(group("b", "c")));
        assertNull(memory.find(group("c")));
        var second = remembered(group("b", "c"), 1);
        memory.remember(group("b", "c"), second);
        assertSame(second, memory.find(group("c")));
        assertNull(memory.find(group("a")), "the members that have left are forgotten");
        assertEquals(1, memory.size());
    }

    @Test
    void theOldestAreForgottenFirst() {
        for (int i = 0; i <= OpinionRequests.MOST_GROUPS; i++) {
            memory.remember(group("p" + i), remembered(group("p" + i), 1));
        }
        assertEquals(OpinionRequests.MOST_GROUPS, memory.size());
        assertNull(memory.find(group("p0")));
        assertNotNull(memory.find(group("p1")));
    }

    @Test
    void sizeCounts() {
        for (int i = 0; i < 10; i++) {
            memory.remember(group("p" + i), remembered(group("p" + i), GroupMemory.MOST_ENTRIES / 3));
        }
        assertTrue(memory.size() <= 3);
        assertNotNull(memory.find(group("p9")));
    }
}
