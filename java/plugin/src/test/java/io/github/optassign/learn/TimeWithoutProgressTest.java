package io.github.optassign.learn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.model.Placement;
import io.github.optassign.testing.TestGroup;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of changes that count as progress towards a plan, and of others. */
class TimeWithoutProgressTest {
    private TestGroup group;
    private Placement plan;
    private TimeWithoutProgress timeWithoutProgress;
    private long now;

    /** Creates two tasks that run on the first client and are planned on the second, which has one standby. */
    @BeforeEach
    void begin() {
        group = TestGroup.of(2).tasks(0, 2, TestGroup.Kind.LOGGED, 1_000_000);
        group.runs(0, "0_0", "0_1").holds(1, "0_0", 500_000);
        plan = Placement.empty(2);
        plan.active()[0] = 1;
        plan.active()[1] = 1;
        assertEquals(0, passed(0));
    }

    /** Advances the clock, and returns the seconds without progress. */
    private long passed(long seconds) {
        now += TimeUnit.SECONDS.toNanos(seconds);
        timeWithoutProgress = TimeWithoutProgress.after(timeWithoutProgress, group.snapshot(), plan, now);
        return timeWithoutProgress.withoutProgressMs(now) / 1_000;
    }

    @Test
    void timeCountsAndNotAnswers() {
        for (int i = 0; i < 10; i++) {
            assertEquals(0, passed(0));
        }
        assertEquals(60, passed(60));
        assertEquals(120, passed(60));
    }

    @Test
    void changelogsThatGrowHideNoProgress() {
        group.ends.put("0_1", 9_000_000L);
        group.holds(1, "0_0", 499_000);
        assertEquals(0, passed(60), "one copy restores, and another one has not begun");
    }

    @Test
    void lagThatRisesAndFallsIsNoProgress() {
        group.holds(1, "0_0", 600_000);
        assertEquals(60, passed(60));
        group.holds(1, "0_0", 550_000);
        assertEquals(120, passed(60), "it was at 500,000 before");
        group.holds(1, "0_0", 499_999);
        assertEquals(0, passed(60));
    }

    @Test
    void taskThatComesToItsPlannedClientIsProgressOnce() {
        group.stops(0, "0_0");
        assertEquals(60, passed(60), "on its way");
        group.runs(1, "0_0");
        assertEquals(0, passed(60), "there");
        group.stops(1, "0_0");
        group.runs(0, "0_0");
        assertEquals(60, passed(60), "back");
        group.stops(0, "0_0");
        group.runs(1, "0_0");
        assertEquals(120, passed(60), "there again");
    }

    @Test
    void lagThatBecomesKnownIsNoProgress() {
        group.holds(1, "0_0", -3);
        assertEquals(60, passed(60));
        group.holds(1, "0_0", 500_000);
        assertEquals(120, passed(60));
    }

    @Test
    void anotherGroupBeginsAnew() {
        assertEquals(60, passed(60));
        group.client(1).threads = 2;
        assertEquals(0, passed(60));
    }
}
