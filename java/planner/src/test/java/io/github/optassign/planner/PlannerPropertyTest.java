package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Previous;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.Convergence.Mode;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Properties of the planner on random groups. A failure names the seed, which reproduces the group. */
class PlannerPropertyTest {
    private static final int GROUPS = Cases.count(150);

    @Test
    void keepsTheRules() {
        for (int seed = 0; seed < GROUPS; seed++) {
            TestGroup group = TestGroup.random(new Random(seed));
            Answer answer =
                    RebalancePlanner.toAnswer(group.snapshot(), RebalancePlanner.answer(group.snapshot(), null));
            assertEquals(List.of(), Rules.broken(group, answer), "seed " + seed + "\n" + group);
        }
    }

    @Test
    void planOfActivesIsBalanced() {
        for (int seed = 0; seed < GROUPS; seed++) {
            TestGroup group = TestGroup.random(new Random(seed));
            Snapshot snapshot = group.snapshot();
            RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
            Placement plan = result.plan() == null ? result.placement() : result.plan();
            long[] actives = plan.countActives(snapshot.clientCount());
            assertEquals(0, Shares.ofActives(snapshot).imbalance(actives), "seed " + seed + "\n" + group);
            for (int g = 0; g < snapshot.subtopologyCount(); g++) {
                long[] counts = new long[snapshot.clientCount()];
                int size = 0;
                for (int t = 0; t < snapshot.taskCount(); t++) {
                    if (snapshot.subtopology(t) == g) {
                        counts[plan.active()[t]]++;
                        size++;
                    }
                }
                assertEquals(0, Shares.of(size, 1, snapshot).imbalance(counts), "seed " + seed + "\n" + group);
            }
        }
    }

    @Test
    void settlesWithMemory() {
        settles(new Mode(true, false, false, false, 0));
    }

    @Test
    void settlesWithMemoryAndStateThatIsKept() {
        settles(new Mode(true, true, false, false, 0));
    }

    @Test
    void settlesWithMemoryWhileRestoringIsSlow() {
        settles(new Mode(true, true, true, false, 0));
    }

    @Test
    void settlesWithMemoryInTwoPasses() {
        settles(new Mode(true, true, true, true, 0));
    }

    @Test
    void settlesWithMemoryWhileLagsGrow() {
        settles(new Mode(true, true, true, false, 0.02));
    }

    @Test
    void settlesWithMemoryInTwoPassesWhileLagsGrow() {
        settles(new Mode(true, true, true, true, 0.02));
    }

    @Test
    void settlesWithoutMemory() {
        settles(new Mode(false, false, false, false, 0));
    }

    @Test
    void settlesWithoutMemoryAndStateThatIsKept() {
        settles(new Mode(false, true, false, false, 0));
    }

    @Test
    void settlesWithoutMemoryWhileRestoringIsSlowAndLagsGrow() {
        settles(new Mode(false, true, true, false, 0.02));
    }

    /** In one of 12,000 groups, a new plan would balance standbys better once the first plan is reached. */
    @Test
    void whatWasPlannedForTheSameGroupStaysOnceReached() {
        Convergence played = new Convergence(3126, new Mode(true, true, true, false, 0));
        assertTrue(
                played.answerOnceMore().placement().hasSameCopies(played.last().placement()), played::toString);
    }

    /**
     * Asserts that random groups settle: every answer keeps the rules, rebalances stay within their bound, and then
     * nothing moves. No task moves twice towards one plan, and few tasks move twice at all.
     */
    private void settles(Mode mode) {
        int tasks = 0;
        int moves = 0;
        int needed = 0;
        int twice = 0;
        int groups = Cases.count(200);
        for (int seed = 0; seed < groups; seed++) {
            Convergence played = new Convergence(seed, mode);
            assertEquals(List.of(), played.broken(), played::toString);
            assertTrue(played.isSettled(), played::toString);
            assertEquals(0, played.movedTwiceTowardsOnePlan(), played::toString);
            RebalancePlanner.Result again = played.answerOnceMore();
            // Without memory, directories of dropped copies look like assigned standbys.
            if (mode.memory() || !mode.keepState()) {
                assertTrue(again.placement().hasSameCopies(played.last().placement()), played::toString);
                assertEquals(-1, again.followupMs(), played::toString);
            }
            tasks += played.tasks();
            moves += played.moves();
            needed += played.neededMoves();
            twice += played.movedTwice();
        }
        String sums = mode + ": of " + tasks + " tasks " + twice + " moved twice; " + moves + " moves, " + needed
                + " to the first plans";
        assertTrue(needed > groups * 1.5 && moves <= needed * 1.05, sums);
        assertTrue(twice <= tasks * 0.002, sums);
    }

    /** A task in transit goes to the client of the first pass unless that client lags by more than acceptable (R10). */
    @Test
    void secondPassKeepsTheFirst() {
        int moves = 0;
        int groups = Cases.count(120);
        for (int seed = 0; seed < groups; seed++) {
            TestGroup group = TestGroup.random(new Random(seed));
            RebalancePlanner.Result first = RebalancePlanner.answer(group.snapshot(), null);
            AppliedAnswer applied = group.remembered(first);
            Snapshot before = group.snapshot();
            moves += (int) IntStream.range(0, before.taskCount())
                    .filter(t -> before.isMove(t, first.placement().active()[t]))
                    .count();
            group.firstPass(applied.answer());
            RebalancePlanner.Result second = RebalancePlanner.answer(group.snapshot(), applied);
            for (int t = 0; t < group.snapshot().taskCount(); t++) {
                if (new Previous(group.snapshot(), applied).isInTransit(t)) {
                    boolean hardlyWorse = group.snapshot()
                                    .ranks()
                                    .offsets(t, first.placement().active()[t])
                            <= group.acceptableLag;
                    boolean same =
                            first.placement().active()[t] == second.placement().active()[t];
                    assertTrue(
                            same || !hardlyWorse,
                            "seed " + seed + " task " + group.snapshot().taskName(t) + "\n" + group);
                }
            }
        }
        assertTrue(moves > groups / 2, "the groups hardly move anything: " + moves);
    }
}
