package io.github.optassign.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Minimum-cost flows; tests/java/test_min_cost_flow.py compares random networks with OR-Tools. */
class MinCostFlowTest {
    @Test
    void theCheaperPathIsFilledFirst() {
        MinCostFlow flow = new MinCostFlow();
        int from = flow.addNode(3);
        int to = flow.addNode(-3);
        int dear = flow.addArc(from, to, 0, 9, 5);
        int cheap = flow.addArc(from, to, 0, 2, 1);
        assertTrue(flow.solve(Long.MAX_VALUE));
        assertEquals(1, flow.flow(dear));
        assertEquals(2, flow.flow(cheap));
    }

    @Test
    void lowerBoundsAndCyclesOfNegativeCost() {
        MinCostFlow flow = new MinCostFlow();
        int a = flow.addNode(0);
        int b = flow.addNode(0);
        int there = flow.addArc(a, b, 1, 4, 2);
        int back = flow.addArc(b, a, 0, 3, -3);
        int alsoBack = flow.addArc(b, a, 0, 9, -1);
        assertTrue(flow.solve(Long.MAX_VALUE));
        assertEquals(3, flow.flow(there));
        assertEquals(3, flow.flow(back));
        assertEquals(0, flow.flow(alsoBack));
    }

    @Test
    void theFirstLevelDecidesBeforeTheSecond() {
        MinCostFlow flow = new MinCostFlow();
        int from = flow.addNode(2);
        int to = flow.addNode(-2);
        int dear = flow.addArc(from, to, 0, 9, 0, 1);
        int free = flow.addArc(from, to, 0, 1, 1, 1_000);
        int freeToo = flow.addArc(from, to, 0, 1, 1, 2_000);
        int cheaper = flow.addArc(from, to, 0, 1, 1, 500);
        assertTrue(flow.solve(Long.MAX_VALUE));
        assertEquals(0, flow.flow(dear));
        assertEquals(1, flow.flow(free));
        assertEquals(0, flow.flow(freeToo));
        assertEquals(1, flow.flow(cheaper));
    }

    @Test
    void noFlowKeepsTheBounds() {
        MinCostFlow flow = new MinCostFlow();
        int from = flow.addNode(2);
        int to = flow.addNode(-2);
        flow.addArc(from, to, 0, 1, 0);
        assertFalse(flow.solve(Long.MAX_VALUE));
    }

    /** Sends ten units through a grid of 40 × 40 nodes. */
    @Test
    void theWorkIsBounded() {
        MinCostFlow flow = new MinCostFlow();
        int side = 40;
        int last = side * side - 1;
        for (int node = 0; node <= last; node++) {
            flow.addNode(node == 0 ? 10 : node == last ? -10 : 0);
        }
        for (int node = 0; node <= last; node++) {
            if (node % side < side - 1) {
                flow.addArc(node, node + 1, 0, 7, node * 31 % 17);
            }
            if (node < side * (side - 1)) {
                flow.addArc(node, node + side, 0, 7, node * 13 % 19);
            }
        }
        flow.solve(1_000);
        assertTrue(flow.work() < 20_000, "work " + flow.work());
        assertTrue(flow.solve(Long.MAX_VALUE));
    }
}
