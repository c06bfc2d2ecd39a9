package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.PackageUses;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The dependencies of the planner's packages. */
class PlannerPackagesTest {
    private static final Map<String, Set<String>> USES = PackageUses.find(RebalancePlanner.class);

    /** The planner runs in applications and in brokers, which share neither Kafka's classes nor libraries. */
    @Test
    void theyKnowNothingButJava() {
        assertTrue(USES.size() >= 5, USES.toString());
        USES.forEach((name, used) -> {
            Set<String> foreign = new TreeSet<>(used);
            foreign.removeIf(each -> each.startsWith("java.") || USES.containsKey(each));
            assertEquals(Set.of(), foreign, name);
        });
    }

    @Test
    void noCircles() {
        assertEquals(Set.of(), PackageUses.findCycles(USES));
    }
}
