package io.github.optassign.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.planner.RebalancePlanner;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The order in which copies get warm-up slots (docs/reference/rules.md, "Warm-ups"). */
class SlotOrderTest {
    private record Copy(int client, double restoreTime, int place) implements SlotOrder.Candidate {
        @Override
        public int priority() {
            return 0;
        }
    }

    private static Copy copy(int client, double restoreTime, int place) {
        return new Copy(client, restoreTime, place);
    }

    private static List<Integer> listPlaces(List<Copy> copies) {
        return copies.stream().map(Copy::place).toList();
    }

    @Test
    void clientsApart() {
        SlotOrder order = new SlotOrder(2, new double[] {30, 10}, false);
        assertEquals(
                List.of(0, 3, 1, 2),
                listPlaces(order.order(List.of(copy(0, 10, 0), copy(0, 10, 1), copy(0, 10, 2), copy(1, 10, 3)))));
    }

    @Test
    void whoHasASlotAlreadyComesLater() {
        SlotOrder order = new SlotOrder(2, new double[] {30, 10}, false);
        order.addServed(copy(0, 10, 0));
        assertEquals(List.of(3, 1), listPlaces(order.order(List.of(copy(0, 10, 1), copy(1, 10, 3)))));
    }

    @Test
    void whatEndsTogetherShares() {
        SlotOrder order = new SlotOrder(2, new double[] {100, 18, 5}, false);
        assertEquals(
                List.of(0, 2, 1, 3),
                listPlaces(order.order(List.of(copy(0, 10, 0), copy(1, 8, 1), copy(1, 10, 2), copy(2, 5, 3)))));
    }

    @Test
    void whoIsDoneSoonestComesFirst() {
        SlotOrder order = new SlotOrder(3, new double[] {60, 20}, true);
        order.addServed(copy(0, 60, 3));
        assertEquals(
                List.of(1, 2, 0), listPlaces(order.order(List.of(copy(0, 10, 0), copy(1, 10, 1), copy(1, 10, 2)))));
    }

    /** Two clients join at once; by least restore work alone, the first client would get both slots. */
    @Test
    void twoNewClientsHaveASlotEach() {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 2, 0, 600_000, false, false), List.of());
        List<SnapshotBuilder.Client> owners = List.of(builder.addClient("a", 1), builder.addClient("b", 1));
        builder.addClient("c", 1);
        builder.addClient("d", 1);
        for (int t = 0; t < 16; t++) {
            owners.get(t % 2).runs(builder.addTask("0", t, true, true, 100_000));
        }
        Snapshot snapshot = builder.build();
        Placement placement = RebalancePlanner.answer(snapshot, null).placement();
        int[] warmed = Arrays.stream(placement.warmup())
                .flatMapToInt(Arrays::stream)
                .sorted()
                .toArray();
        assertArrayEquals(new int[] {2, 3}, warmed);
    }

    /** Tasks of a draining client are warmed up first, even if others are smaller. */
    @Test
    void whatADrainingClientHasComesFirst() {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(0, 1, 0, 600_000, false, false), List.of());
        SnapshotBuilder.Client staying = builder.addClient("a", 1);
        SnapshotBuilder.Client draining = builder.addClient("b", 1).drains();
        builder.addClient("c", 1);
        for (int t = 0; t < 7; t++) {
            staying.runs(builder.addTask("0", t, true, true, 1_000));
        }
        String leaving = builder.addTask("0", 7, true, true, 500_000);
        draining.runs(leaving);
        Snapshot snapshot = builder.build();
        Placement placement = RebalancePlanner.answer(snapshot, null).placement();
        assertEquals(1, placement.warmupCount());
        assertEquals(1, placement.warmup()[snapshot.taskIndex(leaving)].length);
    }
}
