package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

/** The MBeans of a broker count the assignments of its groups. */
class BrokerMetricsTest {
    /** The name of a group without a tag contains the least of its process ids. */
    private static final String GROUP = "optassign:type=assignor-metrics,application-id=of-process-measured";

    private static double read(String attribute) throws Exception {
        Object value = ManagementFactory.getPlatformMBeanServer().getAttribute(new ObjectName(GROUP), attribute);
        return ((Number) value).doubleValue();
    }

    @Test
    void assignmentsAndTheirLastResortAreCounted() throws Exception {
        BrokerTestGroup group =
                new BrokerTestGroup(0).logged("0", 12).stateless("1", 6).process("measured", 1);
        var assignor = BrokerTestGroup.newAssignor();
        group.assign(assignor);
        group.process("second", 1).process("third", 1);
        group.reportOffsets(20_000, 0);
        group.assign(assignor);
        assertEquals(2, read("rebalance-total"));
        assertEquals(2, read("answered-by-planner-total"));
        assertEquals(18, read("task-count"));
        assertEquals(3, read("client-count"));
        assertTrue(read("warmup-count") > 0);
        assertEquals(20_000 * read("warmup-count"), read("warmup-lag-offsets"));
        assertTrue(read("load-most") > read("load-least"), "logged tasks stay until the others have caught up");
        assertTrue(read("settling-since-timestamp-ms") > 0);
        assertEquals(-1, read("followup-ms"), "a broker can ask for none");

        Planning.Planner failing = (snapshot, last) -> {
            throw new IllegalStateException("a bug");
        };
        group.assign(new OptassignGroupAssignor(failing, new GroupMemory()));
        assertEquals(3, read("rebalance-total"));
        assertEquals(1, read("answered-by-fallback-total"));
        assertEquals(1, read("fallback"));
    }
}
