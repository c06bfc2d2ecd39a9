package io.github.optassign.model;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** The rates of clients: known only once some client has restored. */
class PaceTest {
    private static Pace pace(Map<String, Pace.Restored> clients) {
        return new Pace(0, clients, 0, -1);
    }

    @Test
    void aGroupIsMeasuredOnceAnyClientHasRestoredOffsets() {
        Pace.Restored nothing = new Pace.Restored(0, 2_000, Evidence.NONE);
        Pace.Restored some = new Pace.Restored(1, 2_000, Evidence.NONE);
        assertFalse(pace(Map.of()).isMeasured());
        assertFalse(pace(Map.of("a", nothing)).isMeasured());
        assertTrue(pace(Map.of("a", nothing, "b", some)).isMeasured());
    }
}
