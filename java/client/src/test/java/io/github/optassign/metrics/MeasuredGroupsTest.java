package io.github.optassign.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** The bound on the number of applications with metrics in a JVM. */
class MeasuredGroupsTest {
    private static boolean isRegistered(String application) throws Exception {
        return ManagementFactory.getPlatformMBeanServer().isRegistered(AssignorMetrics.name(application));
    }

    @Test
    void theApplicationWithTheOldestAnswerGivesWay() throws Exception {
        AssignorMetrics.of("ended").countLastResort();
        AssignorMetrics.of("living").countLastResort();
        for (int i = 0; i < AssignorMetrics.MEASURED_GROUPS - 1; i++) {
            AssignorMetrics.of("new-" + i).countLastResort();
            AssignorMetrics.of("living").countLastResort();
        }
        assertFalse(isRegistered("ended"));
        assertTrue(isRegistered("living"));
        assertTrue(isRegistered("new-0"));
        AssignorMetrics.of("ended").countLastResort();
        assertEquals(
                1L,
                ManagementFactory.getPlatformMBeanServer()
                        .getAttribute(AssignorMetrics.name("ended"), "rebalance-total"),
                "it begins anew");
        assertFalse(isRegistered("new-0"), "now the oldest");
    }
}
