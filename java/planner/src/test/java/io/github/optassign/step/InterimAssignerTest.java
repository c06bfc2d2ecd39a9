package io.github.optassign.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * One answer on the way to a plan, compared task by task with all answers that R3 to R5 allow. The goals in order: most
 * copies on planned clients, least restore cost on others, the planned active, an owner.
 */
class InterimAssignerTest {
    @Test
    void isBestOfAllAnswers() {
        int waiting = 0;
        int groups = Cases.count(400);
        for (int seed = 0; seed < groups; seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.random(random);
            group.looseBalance = true;
            Snapshot snapshot = group.snapshot();
            Placement plan = makePlan(snapshot, random);
            if (plan.isLopsided(snapshot)) {
                continue; // a service makes no such plan, so the planner does not follow it
            }
            RebalancePlanner.Result result =
                    RebalancePlanner.answer(snapshot, group.remembered(toServiceAnswer(snapshot, plan)));
            for (int t = 0; t < snapshot.taskCount(); t++) {
                long[] best = findBest(snapshot, plan, t);
                int[] standby = result.placement().standby()[t];
                long[] found = evaluate(snapshot, plan, t, result.placement().active()[t], standby);
                assertEquals(
                        Arrays.toString(best),
                        Arrays.toString(found),
                        "seed " + seed + " task " + snapshot.taskName(t) + "\n" + group + "\nplan " + plan);
                waiting += result.placement().active()[t] == plan.active()[t] ? 0 : 1;
            }
        }
        assertTrue(waiting > groups, "hardly a task waits for its planned active: " + waiting);
    }

    /**
     * Of two caught-up clients that the plan does not name, the draining one gets no standby, though its lag is less.
     */
    @Test
    void aDrainingClientGetsNoNewStandby() {
        SnapshotBuilder builder = new SnapshotBuilder(new GroupConfigs(100, 2, 1, 600_000, true, false), List.of());
        String task = builder.addTask("0", 0, true, true, 100_000);
        builder.addClient("a", 1).runs(task);
        builder.addClient("b", 1).lags(task, 0).drains();
        builder.addClient("c", 1).lags(task, 50);
        builder.addClient("d", 1);
        Snapshot snapshot = builder.build();
        Placement plan = Placement.empty(1);
        plan.active()[0] = 0;
        plan.addStandby(0, 3);
        AppliedAnswer last =
                AppliedAnswer.of("", System.currentTimeMillis(), toServiceAnswer(snapshot, plan), snapshot);
        assertArrayEquals(
                new int[] {2},
                RebalancePlanner.answer(snapshot, last).placement().standby()[0]);
    }

    private static Placement makePlan(Snapshot snapshot, Random random) {
        Placement plan = Placement.empty(snapshot.taskCount());
        List<Integer> clients = new ArrayList<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            clients.add(c);
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            Collections.shuffle(clients, random);
            plan.active()[t] = clients.get(0);
            for (int i = 1; i <= snapshot.standbysPerTask() && snapshot.isLogged(t); i++) {
                plan.addStandby(t, clients.get(i));
            }
        }
        return plan;
    }

    /** Returns an answer of the service with this plan and without any task in this rebalance. */
    private static Answer toServiceAnswer(Snapshot snapshot, Placement plan) {
        List<Answer.Client> now = snapshot.clientNames().stream()
                .map(name -> new Answer.Client(name, List.of(), List.of(), List.of(), null))
                .toList();
        Answer planned = RebalancePlanner.toAnswer(snapshot, new RebalancePlanner.Result(plan, null));
        return new Answer("cp-sat", now, planned.clients(), List.of());
    }

    /** Returns the values of the goals in the best allowed answer for a task. */
    private static long[] findBest(Snapshot snapshot, Placement plan, int t) {
        long[] best = null;
        int clients = snapshot.clientCount();
        int wanted = snapshot.isLogged(t) ? snapshot.standbysPerTask() : 0;
        for (int active = 0; active < clients; active++) {
            for (int set = 0; set < 1 << clients; set++) {
                int[] standby = toClients(set, clients);
                if (standby.length != wanted || (set >> active & 1) != 0 || !isAllowed(snapshot, t, active, standby)) {
                    continue;
                }
                long[] goals = evaluate(snapshot, plan, t, active, standby);
                best = best == null || Arrays.compare(goals, best) < 0 ? goals : best;
            }
        }
        return best;
    }

    private static int[] toClients(int set, int clients) {
        return IntStream.range(0, clients).filter(c -> (set >> c & 1) != 0).toArray();
    }

    /** Returns whether R3 and R5 allow these copies of a task. */
    private static boolean isAllowed(Snapshot snapshot, int t, int active, int[] standby) {
        Ranks ranks = snapshot.ranks();
        if (ranks.rank(t, active) != ranks.leastRank(t)) {
            return false;
        }
        long worst =
                Arrays.stream(standby).mapToLong(c -> ranks.rank(t, c)).max().orElse(0);
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (c != active && Arrays.binarySearch(standby, c) < 0 && ranks.rank(t, c) < worst) {
                return false;
            }
        }
        return true;
    }

    /** Returns the values of the goals, the most important first; all are minimised. */
    private static long[] evaluate(Snapshot snapshot, Placement plan, int t, int active, int[] standby) {
        int elsewhere = 0;
        long offTarget = 0;
        int[] copies = Arrays.copyOf(standby, standby.length + 1);
        copies[standby.length] = active;
        for (int c : copies) {
            elsewhere += plan.hasCopy(t, c) ? 0 : 1;
            offTarget += plan.hasCopy(t, c) ? 0 : snapshot.ranks().cost(t, c);
        }
        boolean owned = false;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            owned |= snapshot.wasActive(t, c);
        }
        int waits = plan.active()[t] == active ? 0 : 1;
        int moves = owned && !snapshot.wasActive(t, active) ? 1 : 0;
        return new long[] {elsewhere, offTarget, waits, moves};
    }
}
