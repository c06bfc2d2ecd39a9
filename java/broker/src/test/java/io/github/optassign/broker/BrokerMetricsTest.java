package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.Set;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

/** The MBeans of a broker count the assignments of its groups. */
class BrokerMetricsTest {
    private static ObjectName name(String group) throws Exception {
        return new ObjectName("optassign:type=assignor-metrics,application-id=" + group);
    }

    private static double read(ObjectName bean, String attribute) throws Exception {
        Object value = ManagementFactory.getPlatformMBeanServer().getAttribute(bean, attribute);
        return ((Number) value).doubleValue();
    }

    private static double read(String attribute) throws Exception {
        return read(name("measured"), attribute);
    }

    private static Set<ObjectName> listUnnamed() throws Exception {
        return ManagementFactory.getPlatformMBeanServer().queryNames(name("unnamed-*"), null);
    }

    @Test
    void assignmentsAndTheirLastResortAreCounted() throws Exception {
        BrokerTestGroup group =
                new BrokerTestGroup(0).logged("0", 12).stateless("1", 6).process("first", 1);
        group.member("first0").tags = Map.of("optassign", "measured");
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

    @Test
    void aBrokerThatRegainsAGroupCountsItsSettlingAnew() throws Exception {
        BrokerTestGroup group = new BrokerTestGroup(0).logged("0", 12).process("first", 1);
        group.member("first0").tags = Map.of("optassign", "regained");
        var assignor = BrokerTestGroup.newAssignor();
        group.assign(assignor);
        group.process("second", 1);
        group.reportOffsets(20_000, 0);
        group.assign(assignor);
        double since = read(name("regained"), "settling-since-timestamp-ms");
        // Another broker hands a task over.
        group.member("first0").active.get("0").remove(0);
        group.member("second0").active.put("0", Set.of(0));
        group.process("third", 1);
        group.reportOffsets(20_000, 0);
        Thread.sleep(2);
        group.assign(assignor);
        assertTrue(read(name("regained"), "warmup-count") > 0);
        assertTrue(read(name("regained"), "settling-since-timestamp-ms") > since);
    }

    @Test
    void aGroupWithoutATagKeepsItsNameWhileProcessesComeAndGo() throws Exception {
        Set<ObjectName> before = listUnnamed();
        BrokerTestGroup group = new BrokerTestGroup(0).logged("0", 12).process("b", 1);
        GroupMemory memory = new GroupMemory();
        var assignor = new OptassignGroupAssignor(Planning.Planner.DEFAULT, memory);
        group.assign(assignor);
        group.process("a", 1);
        group.assign(assignor);
        group.remove("b");
        group.stateless("1", 6);
        group.assign(assignor);
        Planning.Planner failing = (snapshot, last) -> {
            throw new IllegalStateException("a bug");
        };
        group.process("0", 1);
        group.assign(new OptassignGroupAssignor(failing, memory));
        group.process("00", 1);
        group.assign(assignor);
        Set<ObjectName> added = listUnnamed();
        added.removeAll(before);
        assertEquals(1, added.size());
        assertEquals(5, read(added.iterator().next(), "rebalance-total"));
        assertEquals(0, read(added.iterator().next(), "fallback"), "the last answer was none");
    }
}
