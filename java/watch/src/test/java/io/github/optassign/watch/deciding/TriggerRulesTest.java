package io.github.optassign.watch.deciding;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.watch.deciding.Decision.Action;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The triggers of a group in single scenarios. */
class TriggerRulesTest {
    private static final Limits LIMITS =
            new Limits(WatchedTestGroup.ACCEPTABLE, 2_000, 10_000, 180_000, 30_000, 120_000, 300_000, 60, 4);

    private final WatchedTestGroup group = WatchedTestGroup.joined();
    private final TriggerRules rules = new TriggerRules(LIMITS);
    private long nowMs = 1_000_000;

    /** Looks after a time, and assumes that the decision is carried out. */
    private Decision look(long laterMs) {
        nowMs += laterMs;
        return group.look(rules, nowMs);
    }

    /** Looks twice, since the first look waits for other warm-ups. */
    private Decision lookAndDebounce(long laterMs) {
        expect(Action.HOLD, "debounce", look(laterMs));
        return look(LIMITS.debounceMs());
    }

    private void expect(Action action, String why, Decision found) {
        assertEquals(action, found.action(), found.toString());
        assertEquals(why, found.why());
    }

    /** Looks every ten seconds, and counts the actions. */
    private int countActions(int looks) {
        int count = 0;
        for (int i = 0; i < looks; i++) {
            count += WatchedTestGroup.changesConfig(look(10_000)) ? 1 : 0;
        }
        return count;
    }

    @Test
    void waitsWhileWarmupsAreBehind() {
        expect(Action.NOTHING, "", look(0));
        group.standby(WatchedTestGroup.task(0), "c", 1001);
        expect(Action.NOTHING, "", look(10_000));
    }

    @Test
    void triggersOnceForAWarmupThatHasCaughtUp() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 1000);
        Decision decision = lookAndDebounce(10_000);
        expect(Action.TRIGGER, "caught_up", decision);
        assertEquals("1 caught up, the first of them 0_0 on c", decision.text());
        group.epoch++;
        // The assignor has not moved the task.
        expect(Action.NOTHING, "", look(10_000));
        expect(Action.NOTHING, "", look(10_000));
    }

    @Test
    void atTheFirstLookAStandbyNextToALaggingWarmupIsNoEvidence() {
        group.standbys = 1;
        group.standby(WatchedTestGroup.task(0), "b", 0);
        assertEquals(Action.NOTHING, look(0).action());
        group.standby(WatchedTestGroup.task(0), "c", 0);
        Decision decision = look(10_000);
        assertEquals("1 caught up, the first of them 0_0 on c", decision.text());
        group.memory = WatchMemory.none();
        assertEquals(
                Action.TRIGGER,
                look(10_000).action(),
                "with both caught up the warm-up is unknown, so a trigger is tried");
    }

    @Test
    void theNextWarmupIsTheNextEvidenceAndRestoresTheConfig() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.TRIGGER, "caught_up", lookAndDebounce(10_000));
        group.assign();
        group.standby(WatchedTestGroup.task(3), "c", 0);
        expect(Action.TRIGGER, "caught_up", look(10_000));
        assertEquals(false, group.isConfigChanged, "the second trigger takes the mark of the first away");
        group.assign();
        assertEquals(0, countActions(1000));
    }

    @Test
    void restoresWhenNothingIsLeftToDo() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0).standby(WatchedTestGroup.task(3), "c", 0);
        expect(Action.TRIGGER, "caught_up", look(10_000));
        group.assign();
        expect(Action.RESTORE, "done", look(10_000));
        group.epoch++;
        assertEquals(0, countActions(1000));
    }

    @Test
    void anExpectedAssignmentIsAwaited() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.TRIGGER, "caught_up", lookAndDebounce(10_000));
        group.standby(WatchedTestGroup.task(3), "c", 0);
        // A mark that is removed before the coordinator has seen it would trigger nothing.
        expect(Action.NOTHING, "", look(60_000));
        group.assign();
        expect(Action.RESTORE, "done", look(10_000));
    }

    @Test
    void removesTheMarkOfAnEarlierWatcher() {
        group.isConfigChanged = true;
        group.standby(WatchedTestGroup.task(0), "c", 0).standby(WatchedTestGroup.task(3), "c", 0);
        group.assign();
        expect(Action.RESTORE, "done", look(0));
    }

    @Test
    void removesTheMarkOfASlowGroup() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.TRIGGER, "caught_up", lookAndDebounce(10_000));
        group.assign();
        expect(Action.NOTHING, "", look(10_000));
        for (long lag = 40_000; lag > 20_000; lag -= 1000) {
            group.standby(WatchedTestGroup.task(3), "c", lag);
            expect(Action.NOTHING, "", look(14_000));
        }
        group.standby(WatchedTestGroup.task(3), "c", 19_000);
        expect(Action.RESTORE, "long", look(20_000));
    }

    @Test
    void waitsUntilTheLastAssignmentIsCarriedOut() {
        look(0);
        group.phase = GroupView.Phase.CHANGING;
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.NOTHING, "", look(10_000));
        group.phase = GroupView.Phase.STABLE;
        expect(Action.TRIGGER, "caught_up", look(10_000));
    }

    @Test
    void aStandbyIsNoEvidenceWithoutAGain() {
        WatchedTestGroup still = new WatchedTestGroup().processes("a", "b");
        still.standbys = 1;
        still.task(WatchedTestGroup.task(0), "a").task(WatchedTestGroup.task(1), "b");
        still.standby(WatchedTestGroup.task(0), "b", 50_000).standby(WatchedTestGroup.task(1), "a", 50_000);
        assertEquals(Action.NOTHING, still.look(rules, 0).action());
        still.standby(WatchedTestGroup.task(0), "b", 0);
        assertEquals(Action.NOTHING, still.look(rules, 10_000).action());
    }

    @Test
    void aCaughtUpStandbyIsEvidenceIfBalanceWouldImprove() {
        WatchedTestGroup skewed = new WatchedTestGroup().processes("a", "b");
        skewed.standbys = 1;
        skewed.task(WatchedTestGroup.task(0), "a").task(WatchedTestGroup.task(1), "a");
        skewed.standby(WatchedTestGroup.task(0), "b", 50_000).standby(WatchedTestGroup.task(1), "b", 50_000);
        skewed.look(rules, 0);
        skewed.standby(WatchedTestGroup.task(0), "b", 0);
        expect(Action.TRIGGER, "caught_up", skewed.look(rules, 10_000));
    }

    @Test
    void aGroupWithoutProgressIsTriggeredAFewTimes() {
        group.standby.clear();
        look(0);
        expect(Action.NOTHING, "", look(179_000));
        expect(Action.TRIGGER, "no_progress", look(1000));
        group.epoch++;
        look(10_000);
        expect(Action.NOTHING, "", look(200_000));
        int actions = 0;
        for (int i = 0; i < 10_000; i++) {
            Decision decision = look(10_000);
            actions += decision.action() == Action.TRIGGER ? 1 : 0;
            group.epoch += WatchedTestGroup.changesConfig(decision) ? 1 : 0;
        }
        assertEquals(3, actions, "four tries in all");
        assertEquals(false, group.isConfigChanged);
        group.processes("d");
        look(10_000);
        expect(Action.TRIGGER, "no_progress", look(180_000));
    }

    @Test
    void aTaskWithoutAnOwnerTriggers() {
        group.active.get(WatchedTestGroup.task(5)).clear();
        look(0);
        expect(Action.NOTHING, "", look(29_000));
        Decision decision = look(1000);
        expect(Action.TRIGGER, "broken", decision);
        assertEquals("task 0_5 is active nowhere", decision.text());
    }

    @Test
    void aTargetThatBreaksTriggersThoughTheGroupHasMadeNoProgressForLong() {
        group.standby.clear();
        for (int i = 0; i < 1000; i++) {
            group.epoch += WatchedTestGroup.changesConfig(look(10_000)) ? 1 : 0;
        }
        group.active.get(WatchedTestGroup.task(5)).clear();
        group.epoch++;
        look(10_000);
        expect(Action.TRIGGER, "broken", look(30_000));
    }

    @Test
    void membersThatDoNotReachTheTargetTrigger() {
        group.phase = GroupView.Phase.CHANGING;
        look(0);
        group.progress = 1;
        expect(Action.NOTHING, "", look(119_000));
        expect(Action.NOTHING, "", look(119_000));
        expect(Action.TRIGGER, "broken", look(1000));
    }

    @Test
    void anEmptyGroupIsNotTriggered() {
        group.phase = GroupView.Phase.NOT_RUNNING;
        look(0);
        assertEquals(0, countActions(1000));
        group.isConfigChanged = true;
        expect(Action.RESTORE, "empty", look(10_000));
    }

    @Test
    void copiesThatCatchUpTogetherAreOneTrigger() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.HOLD, "debounce", look(10_000));
        group.standby(WatchedTestGroup.task(3), "c", 0);
        Decision decision = look(1000);
        expect(Action.TRIGGER, "caught_up", decision);
        assertEquals("2 caught up, the first of them 0_0 on c", decision.text());
    }

    @Test
    void aFormerOwnerIsNoEvidence() {
        group.standbys = 1;
        group.standby.clear();
        look(0);
        group.epoch++;
        group.active.put(WatchedTestGroup.task(0), List.of("b"));
        group.standby(WatchedTestGroup.task(0), "a", 0).standby(WatchedTestGroup.task(0), "c", 50_000);
        expect(Action.NOTHING, "", look(10_000));
        group.standby(WatchedTestGroup.task(0), "c", 0);
        Decision decision = look(10_000);
        expect(Action.TRIGGER, "caught_up", decision);
        assertEquals("1 caught up, the first of them 0_0 on c", decision.text());
    }

    @Test
    void aFormerOwnerThatHasRestartedIsEvidence() {
        WatchedTestGroup whole = new WatchedTestGroup().processes("a", "b", "c");
        whole.standbys = 1;
        for (int p = 0; p < 6; p++) {
            whole.task(WatchedTestGroup.task(p), List.of("a", "b", "c").get(p / 2));
            whole.standby(WatchedTestGroup.task(p), List.of("b", "c", "a").get(p / 2), 0);
        }
        expect(Action.NOTHING, "", whole.look(rules, nowMs));
        // c ends and returns between two looks. The assignor did not know the lags on its disk yet.
        whole.restart("c");
        for (int p = 4; p < 6; p++) {
            whole.task(WatchedTestGroup.task(p), "a");
            whole.standby.remove(WatchedTestGroup.task(p));
            whole.standby(WatchedTestGroup.task(p), "c", 0);
        }
        whole.epoch++;
        Decision decision = whole.look(rules, nowMs + 10_000);
        expect(Action.TRIGGER, "caught_up", decision);
    }

    /** The former owner had not restored the task when another process took it over. */
    @Test
    void aFormerOwnerWithoutStateIsEvidenceOnceItHasCaughtUp() {
        group.standby.clear();
        look(0);
        group.epoch++;
        group.active.put(WatchedTestGroup.task(0), List.of("c"));
        group.standby(WatchedTestGroup.task(0), "a", 50_000);
        expect(Action.NOTHING, "", look(10_000));
        group.standby(WatchedTestGroup.task(0), "a", 0);
        expect(Action.TRIGGER, "caught_up", look(10_000));
    }

    @Test
    void theFirstPauseIsShort() {
        look(0);
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.TRIGGER, "caught_up", lookAndDebounce(5000));
        group.assign();
        group.standby(WatchedTestGroup.task(3), "c", 0);
        expect(Action.HOLD, "pause", look(1900));
        expect(Action.TRIGGER, "caught_up", look(100));
    }

    @Test
    void pausesGrowUntilTheGroupRests() {
        assertEquals(0, LIMITS.pauseAfter(List.of(), 0));
        List<Long> acted = new ArrayList<>();
        for (long pause : new long[] {2000, 4000, 8000, 10_000, 10_000, 10_000}) {
            acted.add(1000L * acted.size());
            assertEquals(pause, LIMITS.pauseAfter(acted, 5000), acted.toString());
        }
        assertEquals(2000, LIMITS.pauseAfter(acted, 64_000), "only the last of them is less than a minute ago");
    }

    private boolean isUnderWay() {
        return rules.isUnderWay(group.view(), group.memory, nowMs);
    }

    @Test
    void aGroupIsUnderWayWhileItProgresses() {
        look(0);
        assertTrue(isUnderWay());
        look(179_000);
        assertTrue(isUnderWay());
        group.standby(WatchedTestGroup.task(0), "c", 40_000);
        look(0);
        nowMs += 179_000;
        assertTrue(isUnderWay(), "a warm-up has got nearer");
        nowMs += 1000;
        assertFalse(isUnderWay(), "a group without progress may be looked at less often");
    }

    @Test
    void aGroupAtRestOrStuckIsNotUnderWay() {
        group.standby(WatchedTestGroup.task(0), "c", 0).standby(WatchedTestGroup.task(3), "c", 0);
        group.assign();
        look(0);
        assertFalse(isUnderWay(), "nothing is left to do");
        group.phase = GroupView.Phase.CHANGING;
        group.epoch++;
        look(1000);
        assertTrue(isUnderWay(), "members move towards the target");
        nowMs += 120_000;
        assertFalse(isUnderWay(), "and do not get there");
        group.phase = GroupView.Phase.NOT_RUNNING;
        look(0);
        assertFalse(isUnderWay());
    }

    @Test
    void aGroupIsUnderWayUntilTheTriggeredAssignment() {
        group.standby(WatchedTestGroup.task(0), "c", 0).standby(WatchedTestGroup.task(3), "c", 0);
        expect(Action.TRIGGER, "caught_up", look(0));
        assertTrue(isUnderWay());
        group.assign();
        expect(Action.HOLD, "pause", look(1000));
        assertTrue(isUnderWay(), "the config is to be put back");
        expect(Action.RESTORE, "done", look(1000));
        assertTrue(isUnderWay(), "a restoration is an assignment too");
        group.epoch++;
        look(1000);
        assertFalse(isUnderWay());
    }

    @Test
    void aSingleLookUsesItsEvidenceOnly() {
        TriggerRules once = new TriggerRules(LIMITS.once());
        assertEquals(
                Action.NOTHING, once.decide(group.view(), WatchMemory.none(), 5).action());
        group.standby(WatchedTestGroup.task(0), "c", 0);
        expect(Action.TRIGGER, "caught_up", once.decide(group.view(), WatchMemory.none(), 5));
        WatchedTestGroup broken = WatchedTestGroup.joined();
        broken.active.put(WatchedTestGroup.task(1), List.of("a", "b"));
        expect(Action.TRIGGER, "broken", once.decide(broken.view(), WatchMemory.none(), 5));
    }
}
