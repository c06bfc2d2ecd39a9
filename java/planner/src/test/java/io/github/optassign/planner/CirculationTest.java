package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Flows that are out of their bounds, and what is changed to bring them inside. */
class CirculationTest {
    @Test
    void mendsWithFewChanges() {
        // Two ways to mend the first arc: over an arc that has too little itself, or over one that is within its
        // bounds.
        Circulation flow = new Circulation(4);
        int over = flow.addArc(0, 1, 0, 1, 2);
        int inBounds = flow.addArc(0, 2, 0, 9, 1);
        int under = flow.addArc(0, 3, 1, 9, 0);
        flow.addArc(1, 0, 2, 9, 2);
        flow.addArc(2, 0, 0, 9, 1);
        flow.addArc(3, 0, 0, 9, 0);
        flow.addArc(2, 1, 0, 9, 0);
        flow.addArc(3, 1, 0, 9, 0);
        assertTrue(flow.repair());
        assertEquals(1, flow.flow(over));
        assertEquals(1, flow.flow(under));
        assertEquals(1, flow.flow(inBounds));
    }

    @Test
    void changesOfSumsCostNothing() {
        // Round by one more arc, or by two sums: these are no more than what the arcs before them add up to.
        Circulation flow = new Circulation(4);
        int over = flow.addArc(0, 1, 0, 1, 2);
        int arc = flow.addArc(0, 2, 0, 9, 0);
        int first = flow.addSum(0, 3, 0, 9, 0);
        flow.addArc(2, 1, 0, 9, 0);
        flow.addSum(3, 1, 0, 9, 0);
        flow.addArc(1, 0, 2, 9, 2);
        assertTrue(flow.repair());
        assertEquals(1, flow.flow(over));
        assertEquals(0, flow.flow(arc));
        assertEquals(1, flow.flow(first));
    }

    @Test
    void saysWhenThereIsNone() {
        Circulation flow = new Circulation(2);
        flow.addArc(0, 1, 2, 3, 0);
        flow.addArc(1, 0, 0, 1, 0);
        assertFalse(flow.repair());
    }
}
