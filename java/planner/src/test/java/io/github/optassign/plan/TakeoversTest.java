package io.github.optassign.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.planner.RebalancePlanner;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The standbys of a client's tasks are spread over many other clients, which take over if the client dies. */
class TakeoversTest {
    @ParameterizedTest
    @CsvSource({"3, 12, 1, 1", "4, 24, 3, 1", "10, 100, 5, 1", "10, 100, 1, 1", "16, 240, 2, 1", "6, 60, 2, 2"})
    void whoeverDiesTheOthersAreEvenWithWhatTheirStandbysTakeOver(
            int clients, int tasks, int subtopologies, int standbys) {
        SnapshotBuilder builder =
                new SnapshotBuilder(new GroupConfigs(0, 2, standbys, 600_000, false, false), List.of());
        for (int c = 0; c < clients; c++) {
            builder.addClient(String.format("client-%02d", c), 1);
        }
        for (int g = 0; g < subtopologies; g++) {
            for (int p = 0; p < tasks / subtopologies; p++) {
                builder.addTask(String.valueOf(g), p, true, true, 1_000);
            }
        }
        Snapshot snapshot = builder.build();
        assertEquals(standbys, snapshot.standbysPerTask());
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        assertEquals(0, plan.imbalance(snapshot));
        for (int gone = 0; gone < clients; gone++) {
            int[] count = new int[clients];
            for (int t = 0; t < tasks; t++) {
                if (plan.active()[t] == gone) {
                    for (int c : plan.standby()[t]) {
                        count[c]++;
                    }
                }
            }
            int led = 0;
            int most = 0;
            for (int c = 0; c < clients; c++) {
                led += count[c];
                most = Math.max(most, count[c]);
            }
            int fair = (led + clients - 2) / (clients - 1);
            assertTrue(most <= fair, "without " + gone + " one takes over " + most + ", fair is " + fair);
        }
    }
}
