package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The instance that leads the group dies, and the next leader has no memory. It holds owners back for one rebalance
 * only (docs/reference/rules.md, "Owners held back"). Caught-up copies are active two follow-ups later: within seconds
 * of the death, not after an interval.
 */
class LeaderDeathTest {
    private static final long SOON_MS = 2_000;

    private final List<String> late = new ArrayList<>();
    private long now = 1_767_225_600_000L;
    private AppliedAnswer applied;
    private RebalancePlanner.Result last;

    @Test
    void caughtUpCopiesLeadAfterTwoFollowups() {
        int held = 0;
        for (int seed = 0; seed < 200; seed++) {
            TestGroup group = converge(new Random(seed));
            group.clients.remove(0);
            applied = null;
            rebalance(group);
            held += measureUnevenness(group) > 0 ? 1 : 0;
            for (int followups = 0;
                    followups < 2 && last.followupMs() >= 0 && last.followupMs() <= SOON_MS;
                    followups++) {
                now += last.followupMs();
                rebalance(group);
            }
            if (measureUnevenness(group) > 0) {
                late.add("seed " + seed + ": " + measureUnevenness(group) + ", for " + last.followupMs() + " ms");
            }
        }
        assertTrue(held > 20, "hardly a group is held back: " + held);
        assertEquals(List.of(), late);
    }

    @Test
    void targetAssignmentsOfBrokersHaveNoSecondPass() {
        TestGroup group = TestGroup.of(3).tasks(0, 6, TestGroup.Kind.LOGGED, 100_000);
        group.standbys = 1;
        group.movesInOnePass = true;
        group.runs(0, "0_0", "0_1", "0_2", "0_3").runs(1, "0_4");
        for (String task : List.of("0_0", "0_1", "0_2", "0_3", "0_5")) {
            group.holds(2, task, 0);
        }
        RebalancePlanner.Result result = RebalancePlanner.answer(group.snapshot(), null);
        for (int t = 0; t < 6; t++) {
            int planned = (result.plan() == null ? result.placement() : result.plan()).active()[t];
            boolean mayLead = group.snapshot().ranks().rank(t, planned) == 0;
            assertTrue(!mayLead || result.placement().active()[t] == planned, "task " + t + " waits");
        }
    }

    /** Returns a random group at rest, with all standbys caught up. */
    private TestGroup converge(Random random) {
        TestGroup group = TestGroup.of(3 + random.nextInt(6));
        group.standbys = 1 + random.nextInt(2);
        group.warmups = 2;
        boolean isUneven = random.nextInt(3) == 0;
        group.clients.forEach(client -> client.threads = isUneven ? 1 + random.nextInt(3) : 2);
        for (int g = 0; g <= random.nextInt(3); g++) {
            group.tasks(g, 4 + random.nextInt(20), TestGroup.Kind.LOGGED, 1_000_000);
        }
        applied = null;
        do {
            rebalance(group);
            group.settle(RebalancePlanner.toAnswer(group.snapshot(), last), false);
            now += 60_000;
        } while (last.followupMs() >= 0);
        return group;
    }

    /** Runs a rebalance and, if a task leaves its owner, the second pass. Copies restore nothing. */
    private void rebalance(TestGroup group) {
        answer(group);
        int owned = countOwned(group);
        group.firstPass(applied.answer());
        if (countOwned(group) < owned) {
            now += 200;
            answer(group);
        }
        group.restore(applied.answer(), 0);
    }

    private static int countOwned(TestGroup group) {
        return group.clients.stream().mapToInt(client -> client.active.size()).sum();
    }

    private void answer(TestGroup group) {
        Snapshot snapshot = group.snapshot();
        last = RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, new Timing(now, false));
        Answer answer = RebalancePlanner.toAnswer(snapshot, last);
        applied = group.remembered(answer);
    }

    /** Returns the imbalance of actives, less the imbalance if all caught-up planned actives ran. */
    private long measureUnevenness(TestGroup group) {
        if (last.plan() == null) {
            return 0;
        }
        Snapshot snapshot = group.snapshot();
        Ranks ranks = snapshot.ranks();
        Placement ready = last.placement().copy();
        for (int t = 0; t < ready.active().length; t++) {
            int planned = last.plan().active()[t];
            ready.active()[t] = ranks.rank(t, planned) == 0 ? planned : ready.active()[t];
        }
        Shares shares = Shares.ofActives(snapshot);
        return shares.imbalance(last.placement().countActives(snapshot.clientCount()))
                - shares.imbalance(ready.countActives(snapshot.clientCount()));
    }
}
