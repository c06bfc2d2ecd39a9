package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.StreamsTestGroup;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The MBean of an application counts its rebalances. */
class AssignorMetricsTest {
    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    @BeforeEach
    void forget() {
        Memories.clearAll();
    }

    private static ObjectName name(String application) throws Exception {
        return new ObjectName("optassign:type=assignor-metrics,application-id=" + application);
    }

    private static long read(String application, String attribute) throws Exception {
        return (Long) SERVER.getAttribute(name(application), attribute);
    }

    private static double readDouble(String application, String attribute) throws Exception {
        return (Double) SERVER.getAttribute(name(application), attribute);
    }

    private static void rebalance(String application, Map<String, ?> more, AssignmentError error) {
        StreamsTestGroup group = StreamsTestGroup.of(3)
                .tasks(0, 6, StreamsTestGroup.Kind.LOGGED, 1_000_000)
                .tasks(1, 6, StreamsTestGroup.Kind.STATELESS, 0);
        group.runs(0, "0_0", "0_1", "0_2", "1_0", "1_1", "1_2").runs(1, "0_3", "0_4", "0_5", "1_3", "1_4", "1_5");
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        Map<String, Object> configs = new java.util.HashMap<>(Map.of("application.id", application));
        configs.putAll(more);
        assignor.configure(configs);
        assignor.assign(group.state());
        assignor.onAssignmentComputed(null, null, error);
    }

    @Test
    void aJoinIsCounted() throws Exception {
        rebalance("counted", Map.of(), AssignmentError.NONE);
        assertEquals(1, read("counted", "rebalance-total"));
        assertEquals(1, read("counted", "answered-by-planner-total"));
        assertEquals(0, read("counted", "service-failure-total"));
        assertEquals(2, read("counted", "warmup-count"));
        assertEquals(2_000_000, read("counted", "warmup-lag-offsets"));
        assertEquals(2_000_000, read("counted", "restore-offsets-total"));
        assertTrue(read("counted", "migration-total") > 0, "stateless tasks move at once");
        assertEquals(12, read("counted", "task-count"));
        assertEquals(3, read("counted", "client-count"));
        assertEquals(read("counted", "migration-total"), read("counted", "migration-count"));
        assertEquals(2_000_000, read("counted", "restore-lag-offsets"));
        assertEquals(0, read("counted", "standby-wanted-count"));
        assertEquals(0, read("counted", "fallback"));
        assertTrue(readDouble("counted", "load-most") >= 4);
        assertTrue(readDouble("counted", "load-least") <= 4);
        assertTrue(read("counted", "settling-since-timestamp-ms") > 0);
        assertTrue(read("counted", "followup-ms") > 0);
        assertTrue(read("counted", "last-rebalance-timestamp-ms") > 0);
        rebalance("counted", Map.of(), AssignmentError.NONE);
        assertEquals(2, read("counted", "rebalance-total"));
    }

    @Test
    void aFailureOfTheServiceIsCounted() throws Exception {
        rebalance("failing", Map.of("optassign.url", "http://127.0.0.1:1"), AssignmentError.NONE);
        assertEquals(1, read("failing", "service-failure-total"));
        assertEquals(1, read("failing", "answered-by-fallback-total"));
        assertEquals(1, read("failing", "fallback"));
        assertEquals(0, read("failing", "answered-by-service-total"));
    }

    @Test
    void aRefusedAnswerIsNotCountedAsARebalance() throws Exception {
        rebalance("refused", Map.of(), AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES);
        assertEquals(0, read("refused", "rebalance-total"));
        assertEquals(1, read("refused", "refused-answer-total"));
    }

    @Test
    void namesAreQuotedAndAttributesNamedAsKafkas() throws Exception {
        rebalance("a,b=c", Map.of(), AssignmentError.NONE);
        Set<ObjectName> found = SERVER.queryNames(new ObjectName("optassign:type=assignor-metrics,*"), null);
        assertTrue(
                found.stream()
                        .anyMatch(name -> name.getKeyProperty("application-id").contains("a%2Cb%3Dc")
                                || name.getKeyProperty("application-id").contains("a,b=c")),
                found.toString());
        MBeanAttributeInfo[] attributes =
                SERVER.getMBeanInfo(found.iterator().next()).getAttributes();
        Set<String> odd = Arrays.stream(attributes)
                .map(MBeanAttributeInfo::getName)
                .filter(name -> !name.matches("[a-z]+(-[a-z]+)*"))
                .collect(Collectors.toSet());
        assertEquals(Set.of(), odd);
    }
}
