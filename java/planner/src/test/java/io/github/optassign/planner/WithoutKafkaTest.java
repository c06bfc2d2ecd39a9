package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A growing group, planned by the planner's classes alone, without Kafka Streams. */
class WithoutKafkaTest {
    private static final int TASKS = 8;
    private static final GroupConfigs CONFIGS = new GroupConfigs(100, 2, 1, 600_000, false, false);

    /** Returns three clients after an answer, all copies restored; without an answer, the first two have all tasks. */
    private static Snapshot group(Snapshot before, Placement after) {
        SnapshotBuilder builder = new SnapshotBuilder(CONFIGS, List.of());
        List<String> tasks = new ArrayList<>();
        for (int partition = 0; partition < TASKS; partition++) {
            tasks.add(builder.addTask("0", partition, true, true, 1_000));
        }
        for (int c = 0; c < 3; c++) {
            SnapshotBuilder.Client client = builder.addClient("client-" + c, 1);
            for (int t = 0; t < TASKS; t++) {
                boolean isActive = after == null ? t % 2 == c : after.active()[t] == c;
                boolean isCopy = after == null ? c < 2 : after.hasStandby(t, c) || after.hasWarmup(t, c);
                if (isActive) {
                    client.runs(tasks.get(t));
                } else if (isCopy || (before != null && before.isHolder(t, c))) {
                    client.holds(tasks.get(t)).lags(tasks.get(t), 0);
                }
            }
        }
        return builder.build();
    }

    @Test
    void aNewClientIsWarmedUpAndTakesOverStepByStep() {
        Snapshot snapshot = group(null, null);
        AppliedAnswer applied = null;
        int answers = 0;
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, applied);
        assertEquals(2, result.placement().warmupCount());
        while (result.followupMs() >= 0) {
            for (int t = 0; t < TASKS; t++) {
                int active = result.placement().active()[t];
                assertTrue(snapshot.lag(t, active) <= 100, "moves before its state is there: " + t);
                assertEquals(1, result.placement().standby()[t].length);
            }
            applied = AppliedAnswer.of("", answers, RebalancePlanner.toAnswer(snapshot, result), snapshot);
            snapshot = group(snapshot, result.placement());
            result = RebalancePlanner.answer(snapshot, applied);
            answers++;
            assertTrue(answers < 20, "does not come to rest");
        }
        int[] actives = new int[3];
        for (int c : result.placement().active()) {
            actives[c]++;
        }
        assertTrue(actives[2] >= 2 && actives[2] <= 3, "the new client has " + actives[2]);
        assertNotEquals(0, answers);
        Answer answer = RebalancePlanner.toAnswer(snapshot, result);
        assertEquals(3, answer.clients().size());
    }
}
