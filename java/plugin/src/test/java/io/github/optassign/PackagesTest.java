package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.testing.PackageUses;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The dependencies between packages of the plug-in. */
class PackagesTest {
    private static final String ROOT = "io.github.optassign";
    private static final Map<String, Set<String>> USES = PackageUses.find(OptassignTaskAssignor.class);

    @Test
    void noCycles() {
        assertTrue(USES.size() > 5, USES.toString());
        assertEquals(Set.of(), PackageUses.findCycles(USES));
    }

    @Test
    void onlyTheAssignorKnowsThePlanner() {
        USES.forEach((name, used) -> assertTrue(name.equals(ROOT) || !used.contains(ROOT + ".planner"), name));
    }
}
