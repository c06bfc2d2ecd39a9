package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.PackageUses;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Which packages the planner's use. */
class PlannerPackagesTest {
    private static final Map<String, Set<String>> USES = PackageUses.find(RebalancePlanner.class);

    /** It runs inside applications and inside brokers: neither Kafka nor any library is the same in both. */
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
        assertEquals(Set.of(), PackageUses.findCircles(USES));
    }
}
