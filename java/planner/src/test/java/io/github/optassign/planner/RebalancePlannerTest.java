package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The planner on hand-made groups. */
class RebalancePlannerTest {
    private static RebalancePlanner.Result answer(TestGroup group, AppliedAnswer applied) {
        return RebalancePlanner.answer(group.snapshot(), applied);
    }

    private static Answer.Client client(TestGroup group, RebalancePlanner.Result result, int c) {
        return RebalancePlanner.toAnswer(group.snapshot(), result).clients().get(c);
    }

    private static List<Integer> activeCounts(TestGroup group, RebalancePlanner.Result result) {
        List<Integer> counts = new ArrayList<>();
        RebalancePlanner.toAnswer(group.snapshot(), result)
                .clients()
                .forEach(client -> counts.add(client.active().size()));
        return counts;
    }

    @Test
    void coldStartIsBalancedAtOncePerThreadAndSubtopology() {
        TestGroup group =
                TestGroup.of(3).tasks(0, 4, TestGroup.Kind.LOGGED, 0).tasks(1, 4, TestGroup.Kind.STATELESS, 0);
        group.client(2).threads = 2;
        group.standbys = 1;
        RebalancePlanner.Result result = answer(group, null);
        assertEquals(List.of(2, 2, 4), activeCounts(group, result));
        assertEquals(List.of(), Rules.broken(group, RebalancePlanner.toAnswer(group.snapshot(), result)));
        assertNull(result.plan());
        assertEquals(-1, result.followupMs());
        assertEquals(0, result.placement().warmupCount());
        for (int g = 0; g < 2; g++) {
            String prefix = g + "_";
            assertEquals(
                    2,
                    client(group, result, 2).active().stream()
                            .filter(id -> id.startsWith(prefix))
                            .count());
        }
    }

    @Test
    void restComesBackUnaltered() {
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        group.standbys = 1;
        group.runs(0, "0_0", "0_3").runs(1, "0_1", "0_2");
        group.holds(1, "0_0", 0).holds(1, "0_3", 40).holds(0, "0_1", 0).holds(0, "0_2", 9_000);
        RebalancePlanner.Result result = answer(group, null);
        assertEquals(List.of("0_0", "0_3"), client(group, result, 0).active());
        assertEquals(List.of("0_1", "0_2"), client(group, result, 0).standby());
        assertEquals(-1, result.followupMs());
    }

    @Test
    void whatIsBalancedStaysEvenIfTheFallbackOncePlannedOtherwise() {
        TestGroup group = TestGroup.of(2).tasks(0, 2, TestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0").runs(1, "0_1").holds(0, "0_1", 0).holds(1, "0_0", 0);
        List<Answer.Client> now = List.of(
                new Answer.Client(group.client(0).name(), List.of("0_0"), List.of(), List.of(), null),
                new Answer.Client(group.client(1).name(), List.of("0_1"), List.of(), List.of(), null));
        List<Answer.Client> plan = List.of(
                new Answer.Client(group.client(0).name(), List.of("0_1"), List.of(), List.of(), null),
                new Answer.Client(group.client(1).name(), List.of("0_0"), List.of(), List.of(), null));
        RebalancePlanner.Result own = answer(group, group.remembered(new Answer("fallback", now, plan, List.of())));
        assertEquals(List.of("0_0"), client(group, own, 0).active());
        // The service knows goals that the fallback does not, so its plan is carried out.
        Answer fromService = new Answer("cp-sat", now, plan, List.of());
        RebalancePlanner.Result services = answer(group, group.remembered(fromService));
        assertEquals(List.of("0_1"), client(group, services, 0).active());
    }

    @Test
    void standbysInPlaceStayWhenAClientJoins() {
        TestGroup group = TestGroup.of(3).tasks(0, 4, TestGroup.Kind.LOGGED, 100);
        group.standbys = 1;
        group.runs(0, "0_0", "0_1").runs(1, "0_2", "0_3");
        group.holds(0, "0_2", 0).holds(0, "0_3", 0).holds(1, "0_0", 0).holds(1, "0_1", 0);
        RebalancePlanner.Result result = answer(group, null);
        for (int c = 0; c < 2; c++) {
            for (String id : client(group, result, c).standby()) {
                assertTrue(group.client(c).lists(id), id + " on " + c);
            }
        }
        assertEquals(
                2,
                client(group, result, 2).active().size()
                        + client(group, result, 2).standby().size());
    }

    @Test
    void newClientIsWarmedUpWhileOwnersGoOnAndThenTakesOver() {
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0", "0_1", "0_2", "0_3");
        RebalancePlanner.Result first = answer(group, null);
        assertEquals(List.of(4, 0), activeCounts(group, first));
        assertEquals(List.of("0_2", "0_3"), client(group, first, 1).warmup(), "the greatest ids are given away");
        assertEquals(600_000, first.followupMs());
        assertNotNull(first.plan());
        group.settle(RebalancePlanner.toAnswer(group.snapshot(), first), false);
        RebalancePlanner.Result second = answer(group, group.remembered(first));
        assertEquals(List.of(2, 2), activeCounts(group, second));
        assertEquals(-1, second.followupMs());
        assertNull(second.plan());
    }

    @Test
    void activeGoesToTheMostCaughtUpEvenIfNobodyIsCaughtUp() {
        TestGroup group = TestGroup.of(3).tasks(0, 1, TestGroup.Kind.LOGGED, 100_000);
        group.holds(0, "0_0", 70_000).holds(1, "0_0", 50_000);
        assertEquals(List.of(0, 1, 0), activeCounts(group, answer(group, null)));
    }

    @Test
    void unknownLagsPreferDirectoriesAndAskAgain() {
        TestGroup group = TestGroup.of(3).tasks(0, 1, TestGroup.Kind.LOGGED, 100_000);
        for (int c = 0; c < 3; c++) {
            group.client(c).lags.put("0_0", -3L);
        }
        group.holds(1, "0_0", -3);
        RebalancePlanner.Result result = answer(group, null);
        assertEquals(List.of(0, 1, 0), activeCounts(group, result));
        assertEquals(600_000, result.followupMs());
    }

    @Test
    void everybodyIsCaughtUpWhereAnyLagIsAcceptable() {
        TestGroup group = TestGroup.of(2).tasks(0, 2, TestGroup.Kind.LOGGED, 100_000);
        group.acceptableLag = Long.MAX_VALUE;
        group.runs(0, "0_0", "0_1");
        RebalancePlanner.Result result = answer(group, null);
        assertEquals(List.of(1, 1), activeCounts(group, result));
        assertEquals(-1, result.followupMs());
        for (String id : List.of("0_0", "0_1")) {
            group.client(0).lags.put(id, -3L);
            group.client(1).lags.put(id, -3L);
        }
        assertEquals(List.of(1, 1), activeCounts(group, answer(group, null)), "not even unknown lags matter");
    }

    @Test
    void secondPassConfirmsTheFirst() {
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0", "0_1", "0_2", "0_3").holds(1, "0_0", 5_000).holds(1, "0_1", 5_000);
        RebalancePlanner.Result first = answer(group, null);
        assertEquals(List.of("0_0", "0_1"), client(group, first, 1).active());
        AppliedAnswer applied = group.remembered(first);
        group.firstPass(applied.answer());
        // The new owner is no longer caught up, but lags the old owner by at most the acceptable lag.
        group.holds(1, "0_0", 10_001).holds(1, "0_1", 10_000).holds(0, "0_0", 4_000);
        RebalancePlanner.Result second = answer(group, applied);
        assertEquals(List.of("0_0", "0_1"), client(group, second, 1).active());
        group.holds(1, "0_0", 14_001);
        assertEquals(
                List.of("0_1"), client(group, answer(group, applied), 1).active(), "more than acceptable is too much");
    }

    @Test
    void rememberedPlanIsKeptThoughItIsNotBalancedWhereOptionsAllowThat() {
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.STATELESS, 0);
        group.runs(0, "0_0", "0_1", "0_2", "0_3");
        List<Answer.Client> clients = List.of(
                new Answer.Client(
                        group.client(0).name(), List.of("0_0", "0_1", "0_2", "0_3"), List.of(), List.of(), null),
                new Answer.Client(group.client(1).name(), List.of(), List.of(), List.of(), null));
        Answer remembered = new Answer("cp-sat", clients, null, List.of());
        AppliedAnswer applied = group.remembered(remembered);
        assertEquals(List.of(2, 2), activeCounts(group, answer(group, applied)), "a wrong plan does not live on");
        group.looseBalance = true;
        assertEquals(List.of(4, 0), activeCounts(group, answer(group, applied)));
        group.client(1).threads = 3;
        assertEquals(List.of(1, 3), activeCounts(group, answer(group, applied)), "the group has changed");
    }

    @Test
    void withoutMemoryOwnersKeepTheirsWhileTasksMayBeInTransit() {
        TestGroup group = TestGroup.of(3).tasks(0, 6, TestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0", "0_1", "0_2", "0_3").runs(1, "0_4");
        group.holds(0, "0_5", 0);
        RebalancePlanner.Result result = answer(group, null);
        assertTrue(client(group, result, 0).active().containsAll(List.of("0_0", "0_1", "0_2", "0_3")));
        assertEquals(600_000, result.followupMs());
    }

    @Test
    void warmUpsThatMakeNoProgressGiveWayAndInTheEndNothingIsAskedFor() {
        TestGroup group = TestGroup.of(2).tasks(0, 8, TestGroup.Kind.LOGGED, 100_000);
        group.warmups = 1;
        group.runs(0, "0_0", "0_1", "0_2", "0_3", "0_4", "0_5", "0_6", "0_7");
        AppliedAnswer applied = null;
        List<List<String>> warmed = new ArrayList<>();
        RebalancePlanner.Result result = null;
        for (int i = 0; i < 40 && (result == null || result.followupMs() >= 0); i++) {
            result = answer(group, applied);
            warmed.add(client(group, result, 1).warmup());
            applied = group.remembered(result);
        }
        assertEquals(-1, result.followupMs(), warmed.toString());
        assertTrue(result.stalled());
        assertEquals(
                List.of(List.of("0_4"), List.of("0_5"), List.of("0_6"), List.of("0_7")),
                warmed.stream().distinct().toList());
    }

    @Test
    void warmUpUnderWayKeepsItsSlot() {
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        group.warmups = 1;
        group.runs(0, "0_0", "0_1", "0_2", "0_3");
        RebalancePlanner.Result first = answer(group, null);
        assertEquals(List.of("0_2"), client(group, first, 1).warmup());
        group.holds(1, "0_2", 60_000).holds(1, "0_3", 50_000);
        assertEquals(
                List.of("0_2"),
                client(group, answer(group, group.remembered(first)), 1).warmup());
    }

    private static Answer.Client copies(TestGroup group, int c, List<String> active, List<String> standby) {
        return new Answer.Client(group.client(c).name(), active, standby, List.of(), null);
    }

    @Test
    void ownerKeepsItsTaskUntilThePlannedActiveMayLead() {
        TestGroup group = TestGroup.of(3).tasks(0, 1, TestGroup.Kind.LOGGED, 100_000);
        group.standbys = 1;
        group.runs(0, "0_0").holds(1, "0_0", 0).holds(2, "0_0", 50_000);
        List<Answer.Client> now = List.of(
                copies(group, 0, List.of("0_0"), List.of()),
                copies(group, 1, List.of(), List.of("0_0")),
                copies(group, 2, List.of(), List.of()));
        List<Answer.Client> plan = List.of(
                copies(group, 0, List.of(), List.of()),
                copies(group, 1, List.of(), List.of("0_0")),
                copies(group, 2, List.of("0_0"), List.of()));
        AppliedAnswer applied = group.remembered(new Answer("cp-sat", now, plan, List.of()));
        RebalancePlanner.Result waiting = answer(group, applied);
        assertEquals(List.of(1, 0, 0), activeCounts(group, waiting), "not to the planned standby in between");
        assertEquals(List.of("0_0"), client(group, waiting, 2).warmup());
        group.holds(2, "0_0", 10_000);
        assertEquals(List.of(0, 0, 1), activeCounts(group, answer(group, applied)));
    }

    @Test
    void balanceChoosesAmongClientsThatAreEqualOtherwise() {
        TestGroup group =
                TestGroup.of(3).tasks(0, 2, TestGroup.Kind.LOGGED, 100_000).tasks(1, 2, TestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0").runs(1, "1_0").runs(2, "1_1").holds(0, "0_1", 0).holds(1, "0_1", 0);
        List<Answer.Client> now = List.of(
                copies(group, 0, List.of("0_0"), List.of()),
                copies(group, 1, List.of("1_0"), List.of()),
                copies(group, 2, List.of("1_1"), List.of()));
        List<Answer.Client> plan = List.of(
                copies(group, 0, List.of("0_0"), List.of()),
                copies(group, 1, List.of("1_0"), List.of()),
                copies(group, 2, List.of("1_1", "0_1"), List.of()));
        RebalancePlanner.Result result = answer(group, group.remembered(new Answer("cp-sat", now, plan, List.of())));
        assertEquals(List.of(1, 2, 1), activeCounts(group, result), "not two tasks of one subtopology on one client");
    }

    @Test
    void tiedPlacesGoToThePlansStandbysFirst() {
        TestGroup group = TestGroup.of(4).tasks(0, 1, TestGroup.Kind.LOGGED, 100_000);
        group.standbys = 1;
        group.runs(0, "0_0").holds(3, "0_0", 100_000);
        List<Answer.Client> now = List.of(
                copies(group, 0, List.of("0_0"), List.of()),
                copies(group, 1, List.of(), List.of()),
                copies(group, 2, List.of(), List.of()),
                copies(group, 3, List.of(), List.of("0_0")));
        List<Answer.Client> plan = List.of(
                copies(group, 0, List.of(), List.of()),
                copies(group, 1, List.of("0_0"), List.of()),
                copies(group, 2, List.of(), List.of("0_0")),
                copies(group, 3, List.of(), List.of()));
        RebalancePlanner.Result result = answer(group, group.remembered(new Answer("cp-sat", now, plan, List.of())));
        assertEquals(
                List.of("0_0"), client(group, result, 2).standby(), "before the active, and the standby of before");
    }

    /** Returns a group in which two clients have all tasks, and a third has joined. */
    private static TestGroup groupWithANewThird() {
        TestGroup group = TestGroup.of(3).tasks(0, 6, TestGroup.Kind.LOGGED, 100_000);
        return group.runs(0, "0_0", "0_1", "0_2").runs(1, "0_3", "0_4", "0_5");
    }

    /** Returns an applied answer of the planner that moves no task and plans two for the third client. */
    private static AppliedAnswer planForTheThird(TestGroup group, String one, String other) {
        List<Answer.Client> now = new ArrayList<>();
        List<Answer.Client> plan = new ArrayList<>();
        for (int c = 0; c < group.clients.size(); c++) {
            List<String> owned = List.copyOf(group.client(c).active);
            List<String> kept = owned.stream()
                    .filter(id -> !id.equals(one) && !id.equals(other))
                    .toList();
            now.add(copies(group, c, owned, List.of()));
            plan.add(copies(group, c, c == 2 ? List.of(one, other) : kept, List.of()));
        }
        return group.remembered(new Answer(Answer.FALLBACK, now, plan, List.of()));
    }

    @Test
    void ownPlanStaysWhereANewOneNeedsHardlyLessRestoring() {
        TestGroup group = groupWithANewThird();
        AppliedAnswer applied = planForTheThird(group, "0_0", "0_3");
        group.holds(2, "0_1", 99_000).holds(2, "0_4", 98_000);
        assertEquals(
                List.of("0_0", "0_3"), client(group, answer(group, applied), 2).warmup(), "197,000 and 200,000");
    }

    @Test
    void ownPlanIsReplacedWhereANewOneNeedsClearlyLessRestoring() {
        TestGroup group = groupWithANewThird();
        AppliedAnswer applied = planForTheThird(group, "0_0", "0_3");
        group.holds(2, "0_1", 97_000).holds(2, "0_4", 98_000);
        assertEquals(
                List.of("0_1", "0_4"), client(group, answer(group, applied), 2).warmup(), "195,000 and 200,000");
        group.holds(2, "0_1", 100_000).holds(2, "0_4", 0);
        group.holds(2, "0_0", 100_000).holds(2, "0_3", 100_000);
        assertEquals(
                List.of("0_4"), client(group, answer(group, applied), 2).active(), "one copy less is to be restored");
    }

    @Test
    void planStaysWhereAClientLeavesThatHadNothingInIt() {
        TestGroup before = TestGroup.of(3).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        TestGroup group = TestGroup.of(2).tasks(0, 4, TestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0", "0_1", "0_2").runs(1, "0_3");
        List<Answer.Client> now = List.of(
                copies(before, 0, List.of("0_0", "0_1", "0_2"), List.of()),
                copies(before, 1, List.of("0_3"), List.of()),
                copies(before, 2, List.of(), List.of()));
        List<Answer.Client> plan = List.of(
                copies(before, 0, List.of("0_1", "0_2"), List.of()),
                copies(before, 1, List.of("0_0", "0_3"), List.of()),
                copies(before, 2, List.of(), List.of()));
        assertEquals(List.of("0_2"), client(group, answer(group, null), 1).warmup(), "a new plan is another one");
        for (String assignor : List.of("cp-sat", Answer.FALLBACK)) {
            AppliedAnswer applied = before.remembered(new Answer(assignor, now, plan, List.of()));
            assertEquals(
                    List.of("0_0"), client(group, answer(group, applied), 1).warmup(), assignor);
        }
    }

    /**
     * Groups of more than 10,000 pairs deal tasks to clients in pools, which must leave out an owner of unknown lag.
     */
    @Test
    void aLargeGroupGivesNoTaskToAnOwnerThatMayNotHaveIt() {
        TestGroup group = TestGroup.of(2).tasks(0, 5_001, TestGroup.Kind.LOGGED, 100);
        for (String id : group.tasks.keySet()) {
            group.client(0).active.add(id);
            group.client(0).lags.put(id, -3L);
        }
        RebalancePlanner.Result result = RebalancePlanner.answer(group.snapshot(), null);
        assertEquals(List.of(), Rules.broken(group, RebalancePlanner.toAnswer(group.snapshot(), result)));
    }
}
