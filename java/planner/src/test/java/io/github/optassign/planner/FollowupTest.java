package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.memory.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Pace;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Timing;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * When the fallback asks for a follow-up: by what the times between answers have taught (as
 * tests/solving/test_pace.py).
 */
class FollowupTest {
    private static final long END = 100_000;
    private TestGroup group;
    private AppliedAnswer applied;
    private RebalancePlanner.Result last;
    private long now = 1_767_225_600_000L;
    private boolean isByInterval;

    /** Two clients with two tasks each, and a new one that has nothing. */
    @BeforeEach
    void begin() {
        group = TestGroup.of(3).tasks(0, 4, TestGroup.Kind.LOGGED, END);
        group.runs(0, "0_0", "0_1").runs(1, "0_2", "0_3");
        group.acceptableLag = 100;
        group.warmups = 1;
    }

    /** Answers so many milliseconds later; returns the delay of the follow-up. */
    private long answer(long laterMs) {
        now += laterMs;
        last = RebalancePlanner.answer(group.snapshot(), applied, RackTraffic.NONE, new Timing(now, isByInterval));
        applied = group.remembered(RebalancePlanner.toAnswer(group.snapshot(), last));
        return last.followupMs();
    }

    /** The new client has restored the copy that it warms up but for so much. */
    private void restoreBut(long lag) {
        String task = applied.answer().clients().get(2).warmup().get(0);
        group.holds(2, task, lag);
    }

    @Test
    void firstLookIsSoonAndTheSecondWhenItIsDone() {
        assertEquals(2_000, answer(0));
        restoreBut(END - 20_000);
        assertEquals((END - 20_000) / 10 * 1.05 + 100, answer(2_200), 2);
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
        Answer told = applied.answer();
        applied = group.remembered(new Answer("cp-sat", told.clients(), told.plan(), told.progress(), told.pace(), ""));
        restoreBut(END - 20_000);
        assertEquals((END - 20_000) / 10 * 1.05 + 100, answer(2_200), 2);
    }

    @Test
    void whatWasDoneBeforeAnybodyLookedIsALowerBound() {
        answer(0);
        restoreBut(0);
        answer(2_200);
        String name = group.client(2).name();
        assertEquals(3 * END, last.pace().clients().get(name).offsets());
        assertEquals(2_000, last.pace().clients().get(name).ms());
        assertTrue(last.pace().clients().get(name).isLeast());
    }

    /** A guess is raised by half where all was done again when anybody looked, what was measured by a hundredth. */
    @Test
    void rateThatWasMeasuredIsHardlyDoubtedAndAGuessIs() {
        answer(0);
        restoreBut(END - 20_000);
        answer(2_200);
        String name = group.client(2).name();
        assertEquals(
                new Pace.Restored(20_000, 2_000, false), last.pace().clients().get(name));
        Answer measured = applied.answer();
        String task = measured.clients().get(2).warmup().get(0);
        long begin = now;
        for (boolean isLeast : new boolean[] {false, true}) {
            now = begin;
            applied = group.remembered(withRate(measured, name, new Pace.Restored(20_000, 2_000, isLeast)));
            group.holds(2, task, 0);
            answer(1_000_000);
            assertEquals(
                    new Pace.Restored(isLeast ? 30_000 : 20_200, 2_000, isLeast),
                    last.pace().clients().get(name));
        }
    }

    @Test
    void guessIsForgottenOnceARateIsMeasured() {
        answer(0);
        restoreBut(END - 20_000);
        answer(2_200);
        String name = group.client(2).name();
        Pace.Restored guess = new Pace.Restored(900_000, 2_000, true);
        applied = group.remembered(withRate(applied.answer(), name, guess));
        restoreBut(END - 50_000);
        answer(3_200);
        assertEquals(
                new Pace.Restored(30_000, 3_000, false), last.pace().clients().get(name));
    }

    private static Answer withRate(Answer answer, String client, Pace.Restored rate) {
        Pace pace = answer.pace();
        Pace changed = new Pace(pace.takenAtMs(), Map.of(client, rate), pace.looks(), pace.countedAtMs());
        return new Answer(answer.assignor(), answer.clients(), answer.plan(), answer.progress(), changed, "");
    }

    /** A hundredth was restored when the first look came: what that says of the rest may be far too long. */
    @Test
    void whoWasSeenAtWorkOnlyBrieflyWasPerhapsJustStarting() {
        answer(0);
        restoreBut(END - END / 100);
        assertEquals(4 * 2_000 * 1.05 + 100, answer(2_200), 2);
        restoreBut(END - END / 20);
        assertTrue(answer(8_700) > 100_000, "who is that slow is believed");
    }

    @Test
    void halfOfThePlannedActivesAreMovedFirstWhereTheyAreThereMuchSooner() {
        assertEquals((40_000 * 2) / 15.25 * 1.05 + 100, delayOfTwo(40_000, 99_000), 2);
    }

    @Test
    void allPlannedActivesAreAwaitedWhereHalfOfThemAreThereHardlySooner() {
        assertEquals((80_000 * 2 + 19_000) / 5.25 * 1.05 + 100, delayOfTwo(80_000, 99_000), 2);
    }

    /**
     * The delay where two tasks go to a new client, which after four seconds of restoring is this far behind. It lacks
     * no more than one active task that stateless ones could not make up for, so both have a slot at once.
     */
    private long delayOfTwo(long one, long other) {
        group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, END).tasks(1, 2, TestGroup.Kind.STATELESS, 0);
        group.runs(0, "0_0", "0_1", "0_2", "0_3", "1_0", "1_1");
        group.acceptableLag = 100;
        answer(0);
        List<String> tasks = applied.answer().clients().get(1).warmup();
        assertEquals(2, tasks.size());
        group.holds(1, tasks.get(0), one).holds(1, tasks.get(1), other);
        return answer(4_200);
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
