package io.github.optassign.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.model.Measures;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Since when a group moves towards its target, by the metrics of a JVM that leads it, or leads it again. */
class SettlingTimeTest {
    private static final RebalanceFigures.State STATE = new RebalanceFigures.State(4, 2, 0, 0, 0, 2, 2);

    private static void answer(String application, long followupMs, long now) {
        Measures measures = new Measures(0, 1, 100, 1, 0);
        AssignorMetrics.of(application)
                .count(
                        new RebalanceFigures(RebalanceFigures.Source.PLANNER, false, measures, STATE, followupMs, -1),
                        now);
    }

    private static long settlingSince(String application) throws Exception {
        Object since = ManagementFactory.getPlatformMBeanServer()
                .getAttribute(AssignorMetrics.name(application), "settling-since-timestamp-ms");
        return (Long) since;
    }

    @Test
    void aLeaderKeepsTheFirstTime() throws Exception {
        answer("leading", 60_000, 1_000_000);
        answer("leading", 60_000, 1_070_000);
        assertEquals(1_000_000, settlingSince("leading"));
    }

    @Test
    void aLeaderAgainBeginsAnew() throws Exception {
        answer("regained", 60_000, 1_000_000);
        answer("regained", 60_000, 1_000_000 + 3_600_000);
        assertEquals(4_600_000, settlingSince("regained"), "another JVM has led since then");
    }

    @Test
    void aBrokerAsksForNoFollowUps() throws Exception {
        answer("brokers", -1, 1_000_000);
        answer("brokers", -1, 1_000_000 + 3_600_000);
        assertEquals(1_000_000, settlingSince("brokers"));
    }
}
