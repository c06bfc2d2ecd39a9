package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.memory.Previous;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Timing;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Standbys go where they would if every client were looked at. */
class RoomOrderTest {
    private static Snapshot newSnapshot(Random random) {
        SnapshotBuilder builder =
                new SnapshotBuilder(new GroupConfigs(1_000, 5, 1 + random.nextInt(2), 600_000, false), List.of());
        List<SnapshotBuilder.Client> clients = new ArrayList<>();
        int count = 3 + random.nextInt(10);
        for (int c = 0; c < count; c++) {
            clients.add(builder.addClient("client-" + (char) ('a' + c), 1 + random.nextInt(3)));
        }
        for (int t = 0; t < 30; t++) {
            String task = builder.addTask(String.valueOf(t / 10), t % 10, true, true, 10_000 + random.nextInt(90_000));
            int owner = random.nextInt(count);
            // Each has an owner: lost tasks are not spread where racks matter.
            clients.get(owner).runs(task);
            int holder = random.nextInt(count);
            if (holder != owner && random.nextBoolean()) {
                clients.get(holder).holds(task).lags(task, random.nextInt(20_000));
            }
        }
        return builder.build();
    }

    @Test
    void theSamePlansAsByLookingAtAll() {
        int different = 0;
        for (int seed = 0; seed < 300; seed++) {
            Snapshot snapshot = newSnapshot(new Random(seed));
            int tasks = snapshot.taskCount();
            int[] nowhere = new int[snapshot.clientCount()];
            Arrays.fill(nowhere, -1);
            // Racks that matter, although nobody reads across any.
            RackTraffic.Reads nothing = new RackTraffic.Reads(new int[tasks][0], new int[tasks]);
            RackTraffic none = new RackTraffic(nothing, nothing, nowhere);
            assertTrue(none.matters());
            Placement ordered = plan(snapshot, RackTraffic.NONE);
            Placement lookedAt = plan(snapshot, none);
            FailoverSpread.spread(snapshot, new Previous(snapshot, null), lookedAt); // not where racks matter
            assertArrayEquals(lookedAt.active(), ordered.active(), "seed " + seed);
            assertTrue(Arrays.deepEquals(lookedAt.standby(), ordered.standby()), "seed " + seed);
            different += ordered.standby()[0][0];
        }
        assertTrue(different > 0, "not all alike");
    }

    private static Placement plan(Snapshot snapshot, RackTraffic traffic) {
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null, traffic, Timing.NONE);
        return result.plan() == null ? result.placement() : result.plan();
    }

    /** Places change between two looks, and some may not have the copy. */
    @Test
    void theFirstByPlacesAsTheyAreNow() {
        double[] load = {3, 1, 2};
        RoomOrder order = new RoomOrder(3, c -> new RoomOrder.Place(0, load[c], c));
        assertEquals(1, order.findFirst(c -> true));
        load[1] = 2.5;
        assertEquals(2, order.findFirst(c -> true));
        assertEquals(1, order.findFirst(c -> c != 2));
        assertEquals(-1, order.findFirst(c -> false));
        assertEquals(2, order.findFirst(c -> true));
        load[1] = 9;
        load[2] = 3;
        assertEquals(0, order.findFirst(c -> true), "of equals the first");
    }
}
