package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.testing.TestGroup;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The clients that ask for the next rebalance, and the instants. */
class FollowupDeadlinesTest {
    private static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");
    private static final Snapshot SNAPSHOT = TestGroup.of(3)
            .tasks(0, 3, TestGroup.Kind.STATELESS, 0)
            .runs(0, "0_0")
            .runs(1, "0_1")
            .snapshot();

    private static List<Instant> choose(List<Integer> active, long delayMs, boolean isEarly) {
        Placement placement = new Placement(active.stream().mapToInt(c -> c).toArray(), new int[3][0], new int[3][0]);
        CheckedAnswer answer = CheckedAnswer.of(SNAPSHOT, placement, delayMs);
        return Arrays.asList(FollowupDeadlines.choose(SNAPSHOT, answer, isEarly, NOW));
    }

    private static List<Instant> onlyFirst(long delayMs) {
        return Arrays.asList(NOW.plusMillis(delayMs), null, null);
    }

    /** A task without an owner starts in this rebalance, so no second pass follows. */
    @Test
    void everyClientAsksForASoonFollowup() {
        for (long delayMs : new long[] {100, 1_000, 30_000}) {
            assertEquals(Collections.nCopies(3, NOW.plusMillis(delayMs)), choose(List.of(0, 1, 2), delayMs, false));
        }
    }

    @Test
    void oneClientAsksForALateFollowup() {
        assertEquals(onlyFirst(30_001), choose(List.of(0, 1, 2), 30_001, false));
        assertEquals(onlyFirst(600_000), choose(List.of(0, 1, 2), 600_000, false));
    }

    /** A clock that is ahead must not bring each follow-up too early. */
    @Test
    void oneClientAsksAfterAnEarlyRebalance() {
        assertEquals(onlyFirst(1_000), choose(List.of(0, 1, 2), 1_000, true));
    }

    /** Kafka needs the second pass anyway (KIP-429), and the task is down until then. */
    @Test
    void everyClientAsksAtOnceIfATaskMoves() {
        for (long delayMs : new long[] {-1, 1_000, 600_000}) {
            for (boolean isEarly : new boolean[] {false, true}) {
                assertEquals(Collections.nCopies(3, Instant.EPOCH), choose(List.of(0, 2, 1), delayMs, isEarly));
            }
        }
    }

    @Test
    void restsWithoutAFollowup() {
        choose(List.of(0, 1, 2), -1, false).forEach(deadline -> assertNull(deadline));
    }
}
