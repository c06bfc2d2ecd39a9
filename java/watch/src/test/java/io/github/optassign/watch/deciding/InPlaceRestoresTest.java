package io.github.optassign.watch.deciding;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.watch.deciding.Decision.Action;
import org.junit.jupiter.api.Test;

/**
 * A task of a group at rest loses its state and restores in place, while its standby in another process is caught up.
 */
class InPlaceRestoresTest {
    private static final TaskId TASK = WatchedTestGroup.task(0);
    private static final Copy OWNER = new Copy(TASK, "a");

    private final Limits limits = Limits.DEFAULT;
    private final TriggerRules rules = new TriggerRules(limits);
    private final WatchedTestGroup group = atRest();
    private long nowMs = 1_000_000;

    private static WatchedTestGroup atRest() {
        WatchedTestGroup group = new WatchedTestGroup().processes("a", "b");
        group.standbys = 1;
        for (int p = 0; p < 4; p++) {
            String owner = p < 2 ? "a" : "b";
            group.task(WatchedTestGroup.task(p), owner);
            group.standby(WatchedTestGroup.task(p), owner.equals("a") ? "b" : "a", 0);
            group.restoring.put(
                    new Copy(WatchedTestGroup.task(p), owner), new RestoringActive("thread-" + owner, -1, -1));
        }
        return group;
    }

    private void report(long offset) {
        group.restoring.put(OWNER, new RestoringActive("thread-a", offset, offset < 0 ? -1 : 1_000_000 - offset));
    }

    private Decision look(long laterMs) {
        nowMs += laterMs;
        Decision decision = group.look(rules, nowMs);
        group.epoch += WatchedTestGroup.changesConfig(decision) ? 1 : 0;
        return decision;
    }

    private int countTriggers(int looks) {
        int count = 0;
        for (int i = 0; i < looks; i++) {
            count += look(10_000).action() == Action.TRIGGER ? 1 : 0;
        }
        return count;
    }

    private void restoreInPlace() {
        look(0);
        report(0);
        assertEquals(Action.NOTHING, look(10_000).action(), "it may run since");
        report(20_000);
    }

    @Test
    void aPossibleJumpKeepsLooksFrequentUntilItIsActedOn() {
        look(0);
        report(0);
        look(10_000);
        assertTrue(rules.isUnderWay(group.view(), group.memory, nowMs));
        report(20_000);
        assertEquals("in_place_restore", look(5_000).why());
        assertEquals("done", look(5_000).why());
        look(10_000);
        assertFalse(rules.isUnderWay(group.view(), group.memory, nowMs));
    }

    @Test
    void aJumpTriggersOnce() {
        restoreInPlace();
        Decision decision = look(5_000);
        assertEquals(Action.TRIGGER, decision.action());
        assertEquals("in_place_restore", decision.why());
        assertEquals(
                "1 restore in place though another process has the state, the first of them 0_0 on a", decision.text());
        int triggers = 0;
        for (int i = 2; i < 40; i++) {
            report(20_000L * i);
            triggers += look(10_000).action() == Action.TRIGGER ? 1 : 0;
        }
        assertEquals(0, triggers, "once for each restore, whether or not the assignor moves the task");
        assertFalse(group.isConfigChanged, "the config is put back");
    }

    @Test
    void theNextJumpOfTheSameTaskIsANewReason() {
        restoreInPlace();
        assertEquals(Action.TRIGGER, look(5_000).action());
        report(-1);
        assertEquals(0, countTriggers(100));
        restoreInPlace();
        assertEquals("in_place_restore", look(5_000).why());
    }

    @Test
    void aJumpThatHasToWaitIsNotForgotten() {
        restoreInPlace();
        group.memory = group.memory.act(nowMs + 4_500, Tries.NONE);
        group.epoch++;
        assertEquals(Action.HOLD, look(5_000).action());
        assertEquals("in_place_restore", look(10_000).why());
    }

    @Test
    void aJumpWithoutACaughtUpCopyDoesNotTrigger() {
        group.standby(TASK, "b", limits.acceptableLag() + 1);
        restoreInPlace();
        assertEquals(Action.NOTHING, look(5_000).action());
        assertFalse(rules.isUnderWay(group.view(), group.memory, nowMs));
        group.standby(TASK, "b", limits.acceptableLag());
        assertEquals("in_place_restore", look(5_000).why());
    }

    /** A running task reports no offset, even if the standbys fall behind and catch up. */
    @Test
    void aBurstOfInputIsNoJump() {
        look(0);
        for (long lag = 0; lag < 2_000_000; lag += 100_000) {
            for (int p = 0; p < 4; p++) {
                group.standby(WatchedTestGroup.task(p), p < 2 ? "b" : "a", lag % 500_000);
            }
            assertEquals(Action.NOTHING, look(10_000).action());
        }
    }

    @Test
    void theLastStepsOfAStartAreNoJump() {
        look(0);
        report(1_000_000 - limits.acceptableLag());
        look(10_000);
        report(1_000_000 - limits.acceptableLag() + 1);
        assertEquals(Action.NOTHING, look(10_000).action());
        assertEquals(0, countTriggers(100));
    }

    /** The thread reported the offset before it got the task, and reports none once the task runs. */
    @Test
    void anOldOffsetCountsOnlyIfItStays() {
        report(20_000);
        look(0);
        assertEquals(Action.NOTHING, look(60_000).action());
        assertEquals("in_place_restore", look(30_000).why());
    }

    @Test
    void anotherThreadsOffsetIsNotFresh() {
        restoreInPlace();
        group.restoring.put(OWNER, new RestoringActive("thread-of-its-successor", 40_000, 960_000));
        assertEquals(Action.NOTHING, look(5_000).action());
        group.restoring.put(OWNER, new RestoringActive("thread-of-its-successor", 60_000, 940_000));
        assertEquals(Action.NOTHING, look(5_000).action());
        group.restoring.put(OWNER, new RestoringActive("thread-of-its-successor", 80_000, 920_000));
        assertEquals("in_place_restore", look(5_000).why());
    }
}
