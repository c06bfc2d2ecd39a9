package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Timing;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The planner's delays of follow-ups, from restore rates measured between answers (as tests/solving/test_pace.py). */
class FollowupTest {
    private static final long END = 100_000;
    private TestGroup group;
    private AppliedAnswer applied;
    private RebalancePlanner.Result last;
    private long now = 1_767_225_600_000L;
    private boolean isByInterval;

    /** Creates two clients with two tasks each, and a new client without state. */
    @BeforeEach
    void begin() {
        group = TestGroup.of(3).tasks(0, 4, TestGroup.Kind.LOGGED, END);
        group.runs(0, "0_0", "0_1").runs(1, "0_2", "0_3");
        group.acceptableLag = 100;
        group.warmups = 1;
    }

    /** Advances the clock, answers, and returns the delay of the follow-up, ms, or -1 if none is due. */
    private long answer(long laterMs) {
        now += laterMs;
        last = RebalancePlanner.answer(group.snapshot(), applied, RackTraffic.NONE, new Timing(now, isByInterval));
        applied = group.remembered(RebalancePlanner.toAnswer(group.snapshot(), last));
        return last.followupMs();
    }

    /** Makes the new client restore its warm-up up to this lag, offsets. */
    private void restoreBut(long lag) {
        String task = applied.answer().clients().get(2).warmup().get(0);
        group.holds(2, task, lag);
    }

    /** The copy takes a hundred seconds; in the first three seconds its rate is half as high. */
    @Test
    void waitsFollowTheTimeUnderWay() {
        List<Long> delays = new ArrayList<>();
        long begin = now;
        long restored = 0;
        for (long delay = answer(0); restored < END - 100; ) {
            delays.add(delay);
            long underWay = now + delay - begin;
            restored = Math.min(underWay, 3_000) / 2 + Math.max(0, underWay - 3_000);
            restoreBut(Math.max(0, END - restored));
            delay = answer(delay);
        }
        assertEquals(List.of(2_000L, 2_000L), delays.subList(0, 2), "a start is no rate");
        assertEquals(2_800, delays.get(2), "0.7 of the four seconds under way at most");
        assertEquals(List.of(4_760L, 8_091L), delays.subList(3, 5), "two agree, but not for long enough");
        assertEquals(7, delays.size(), "after 25 seconds of measurement the last look is due as the copy ends");
        assertTrue(now - begin > 100_000 && now - begin < 115_000, "" + (now - begin));
    }

    @Test
    void lagAsOldAsTheLastAnswerMakesNoLongWait() {
        answer(0);
        restoreBut(END - 2_000);
        assertEquals(5_600, answer(8_000));
        restoreBut(END - 60_000);
        assertTrue(answer(8_000) <= 11_200);
        assertEquals(Evidence.ONCE, rate().evidence(), "the two measurements differ");
    }

    private Pace.Restored rate() {
        return last.pace().clients().get(group.client(2).name());
    }

    @Test
    void firstLookIsSoonHoweverOftenTheGroupWasSeenAtRest() {
        TestGroup.Client joining = group.clients.remove(2);
        for (long laterMs : new long[] {0, 5_000, 50_000, 3_600_000}) {
            assertEquals(-1, answer(laterMs));
        }
        group.clients.add(joining);
        assertEquals(2_000, answer(3_600_000));
    }

    @Test
    void withoutProgressEachLookWaitsTwiceAsLong() {
        List<Long> delays = new ArrayList<>();
        long begin = now;
        for (long delay = answer(0); delay >= 0 && delays.size() < 20; delay = answer(delay)) {
            delays.add(delay);
            restoreBut(END);
        }
        assertEquals(List.of(2_000L, 4_000L, 8_000L, 16_000L, 32_000L), delays.subList(0, 5));
        assertTrue(last.stalled(), "R11: a copy that never comes nearer is given up");
        assertTrue(now - begin > 180_000, "but not before three minutes have passed: answers are not seconds");
        assertTrue(delays.stream().allMatch(delay -> delay <= 600_000), delays.toString());
    }

    @Test
    void intervalIsKeptWhereItIsAskedFor() {
        isByInterval = true;
        assertEquals(600_000, answer(0));
        restoreBut(END - 20_000);
        assertEquals(600_000, answer(2_200));
    }

    @Test
    void clockThatGoesBackTeachesNothing() {
        answer(0);
        restoreBut(END - 20_000);
        assertEquals(2_000, answer(-50_000));
        assertEquals(Map.of(), last.pace().clients());
    }

    @Test
    void ratesGoFromTheServiceToTheFallback() {
        answer(0);
        Answer given = applied.answer();
        applied = group.remembered(
                new Answer("cp-sat", given.clients(), given.plan(), given.progress(), given.pace(), ""));
        restoreBut(END - 2_000);
        assertEquals(5_600, answer(8_000));
    }

    @Test
    void copiesThatWereDoneAtTheLookGiveALowerBound() {
        answer(0);
        restoreBut(0);
        answer(2_200);
        assertEquals(new Pace.Restored(3 * END, 2_200, Evidence.BOUND), rate());
    }

    /** If all copies are restored at the look, a guessed rate rises by half, and a measured rate by a hundredth. */
    @Test
    void rateThatWasMeasuredIsHardlyDoubtedAndAGuessIs() {
        answer(0);
        restoreBut(END - 20_000);
        answer(8_000);
        String name = group.client(2).name();
        assertEquals(Evidence.ONCE, rate().evidence());
        Answer measured = applied.answer();
        String task = measured.clients().get(2).warmup().get(0);
        long begin = now;
        for (Evidence evidence : new Evidence[] {Evidence.ONCE, Evidence.BOUND}) {
            now = begin;
            applied = group.remembered(withRate(measured, name, new Pace.Restored(20_000, 2_000, evidence)));
            group.holds(2, task, 0);
            answer(1_000_000);
            long more = evidence == Evidence.BOUND ? 30_000 : 20_200;
            assertEquals(new Pace.Restored(more, 2_000, evidence), rate());
        }
    }

    @Test
    void guessIsForgottenOnceARateIsMeasured() {
        answer(0);
        restoreBut(END - 20_000);
        answer(2_000);
        Pace.Restored guess = new Pace.Restored(900_000, 2_000, Evidence.BOUND);
        applied = group.remembered(withRate(applied.answer(), group.client(2).name(), guess));
        restoreBut(END - 50_000);
        answer(3_000);
        assertEquals(new Pace.Restored(30_000, 2_000, Evidence.ONCE), rate(), "the lag may be a second old");
    }

    private static Answer withRate(Answer answer, String client, Pace.Restored rate) {
        Pace pace = answer.pace();
        Pace changed = new Pace(pace.takenAtMs(), Map.of(client, rate), pace.looks(), pace.countedAtMs());
        return new Answer(answer.assignor(), answer.clients(), answer.plan(), answer.progress(), changed, "");
    }

    @Test
    void halfOfThePlannedActivesAreMovedFirstWhereTheyAreThereMuchSooner() {
        double rate = (70_000 + 1_000) / 2 / 28_000.0;
        assertEquals(30_000 * 2 / rate * 1.05 + 100, delayOfTwo(30_000, 99_000), 50);
    }

    @Test
    void allPlannedActivesAreAwaitedWhereHalfOfThemAreThereHardlySooner() {
        double rate = (70_000 + 65_000) / 2 / 28_000.0;
        assertEquals((30_000 * 2 + 5_000) / rate * 1.05 + 100, delayOfTwo(30_000, 35_000), 50);
    }

    /**
     * Returns the delay of the follow-up, ms, when a new client restores two tasks. They reach these lags in two equal
     * steps, of 40 and 28 seconds.
     */
    private long delayOfTwo(long one, long other) {
        group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, END).tasks(1, 2, TestGroup.Kind.STATELESS, 0);
        group.runs(0, "0_0", "0_1", "0_2", "0_3", "1_0", "1_1");
        group.acceptableLag = 100;
        answer(0);
        List<String> tasks = applied.answer().clients().get(1).warmup();
        assertEquals(2, tasks.size());
        for (int look = 1; look <= 2; look++) {
            group.holds(1, tasks.get(0), END - (END - one) * look / 2);
            group.holds(1, tasks.get(1), END - (END - other) * look / 2);
            answer(look == 1 ? 40_000 : last.followupMs());
        }
        return last.followupMs();
    }

    @Test
    void ratesOfClientsThatAreGoneAreForgotten() {
        answer(0);
        restoreBut(END / 2);
        answer(2_200);
        group.clients.remove(2);
        answer(10_000);
        assertEquals(Map.of(), last.pace().clients());
    }
}
