package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Weights;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The planner serves tags, racks, capacity and draining, so they hold if the service misses a deadline. */
class TraitsTest {
    private static Placement planOf(RebalancePlanner.Result result) {
        return result.plan() == null ? result.placement() : result.plan();
    }

    private static TestGroup inZones(int clients, int zones, int tasks, int standbys) {
        TestGroup group = TestGroup.of(clients).tasks(0, tasks, TestGroup.Kind.LOGGED, 1_000_000);
        group.standbys = standbys;
        group.rackTags = List.of("zone");
        for (int c = 0; c < clients; c++) {
            group.client(c).tags = Map.of("zone", "zone-" + c * zones / clients);
        }
        return group;
    }

    @Test
    void firstStartPutsEveryCopyOfATaskIntoAnotherZone() {
        for (int clients : new int[] {3, 6, 9, 30}) {
            for (int standbys = 1; standbys <= 2; standbys++) {
                Snapshot snapshot = inZones(clients, 3, 360, standbys).snapshot();
                RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
                long reached = result.placement().measureTagSpread(snapshot);
                assertEquals(360L * (standbys + 1), reached, clients + " clients, " + standbys + " standbys");
                assertEquals(0, result.placement().imbalance(snapshot), clients + " clients");
                assertEquals(-1, result.followupMs());
            }
        }
    }

    /** One of three clients is alone in its zone, so it has a copy of each task, 20 more than its share. */
    @Test
    void zonesComeBeforeBalance() {
        TestGroup group = inZones(3, 2, 60, 1);
        for (int t = 0; t < 60; t++) {
            group.runs(t % 2, "0_" + t).holds(1 - t % 2, "0_" + t, 0);
        }
        Snapshot snapshot = group.snapshot();
        Placement plan = planOf(RebalancePlanner.answer(snapshot, null));
        assertEquals(120, plan.measureTagSpread(snapshot));
    }

    @Test
    void standbyInTheZoneOfItsActiveMoves() {
        TestGroup group = inZones(4, 2, 4, 1);
        for (int i = 0; i < 4; i++) {
            group.runs(i, "0_" + i).holds(i ^ 1, "0_" + i, 0);
        }
        Snapshot snapshot = group.snapshot();
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
        assertEquals(8, planOf(result).measureTagSpread(snapshot));
        assertTrue(result.followupMs() > 0, "it is on its way");
        group.rackTags = List.of();
        result = RebalancePlanner.answer(group.snapshot(), null);
        assertEquals(-1, result.followupMs(), "without tags it stays");
    }

    /** A quick restart that corrects tags keeps process ids, state and plan. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void correctedTagsOfAnUnchangedGroupAreServed(boolean isByLoad) {
        TestGroup group = inZones(4, 1, 4, 1);
        for (int i = 0; i < 4; i++) {
            group.runs(i, "0_" + i).holds(i ^ 1, "0_" + i, 0);
        }
        AppliedAnswer last = group.remembered(RebalancePlanner.answer(weigh(group, isByLoad), null));
        assertEquals(-1, RebalancePlanner.answer(weigh(group, isByLoad), last).followupMs(), "at rest");
        for (int i = 0; i < 4; i++) {
            group.client(i).tags = Map.of("zone", "zone-" + i / 2);
        }
        RebalancePlanner.Result result = RebalancePlanner.answer(weigh(group, isByLoad), last);
        assertEquals(8, planOf(result).measureTagSpread(group.snapshot()));
        result = RebalancePlanner.answer(weigh(group, isByLoad), group.remembered(result));
        assertEquals(8, planOf(result).measureTagSpread(group.snapshot()), "the plan is kept");
    }

    private static Snapshot weigh(TestGroup group, boolean isByLoad) {
        double[] weights = {1, 1, 1, 1};
        return isByLoad ? group.snapshot().withWeights(new Weights(weights, 0.05, 0.05)) : group.snapshot();
    }

    /** Another zone is of no use where another cluster is to be had, and the reverse. */
    @Test
    void theFirstTagComesFirst() {
        TestGroup group = TestGroup.of(3).tasks(0, 1, TestGroup.Kind.LOGGED, 1_000_000);
        group.standbys = 1;
        group.client(0).tags = Map.of("cluster", "1", "zone", "1");
        group.client(1).tags = Map.of("cluster", "1", "zone", "2");
        group.client(2).tags = Map.of("cluster", "2", "zone", "1");
        group.runs(0, "0_0").holds(1, "0_0", 0);
        group.rackTags = List.of("cluster", "zone");
        assertArrayEquals(
                new int[] {2},
                planOf(RebalancePlanner.answer(group.snapshot(), null)).standby()[0]);
        group.rackTags = List.of("zone", "cluster");
        assertArrayEquals(
                new int[] {1},
                planOf(RebalancePlanner.answer(group.snapshot(), null)).standby()[0]);
    }

    @ParameterizedTest
    @ValueSource(strings = {"optassign.drain", "optassign.draining"})
    void whoDrainsGivesItsWorkAway(String tag) {
        TestGroup group = TestGroup.of(3).tasks(0, 6, TestGroup.Kind.LOGGED, 1_000_000);
        group.standbys = 1;
        for (int i = 0; i < 6; i++) {
            group.runs(i % 3, "0_" + i).holds((i + 1) % 3, "0_" + i, 0);
        }
        group.client(0).tags = Map.of(tag, "true");
        Snapshot snapshot = group.snapshot();
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
        assertEquals(
                0, Arrays.stream(planOf(result).active()).filter(c -> c == 0).count());
        Answer answer = RebalancePlanner.toAnswer(snapshot, result);
        assertEquals(null, answer.clients().get(0).followupMs());
        assertTrue(answer.clients().get(1).followupMs() > 0, "R8: who does not drain asks");
        group.clients.forEach(client -> client.tags = Map.of(tag, "true"));
        snapshot = group.snapshot();
        assertEquals(0, planOf(RebalancePlanner.answer(snapshot, null)).imbalance(snapshot), "as if none did");
    }

    @Test
    void capacityDecidesOnShares() {
        TestGroup group = TestGroup.of(2).tasks(0, 12, TestGroup.Kind.STATELESS, 0);
        group.client(0).tags = Map.of("optassign.capacity", "2");
        Placement placement = RebalancePlanner.answer(group.snapshot(), null).placement();
        assertEquals(8, Arrays.stream(placement.active()).filter(c -> c == 0).count());
    }

    @Test
    void tasksStartWhereTheirPartitionsAre() {
        Snapshot snapshot = inZones(6, 3, 60, 1).snapshot();
        int[][] partitions = new int[60][3];
        int[] total = new int[60];
        for (int t = 0; t < 60; t++) {
            partitions[t][(t / 2) % 3] = 1;
            total[t] = 1;
        }
        int[] racks = {0, 0, 1, 1, 2, 2};
        RackTraffic.Reads sources = new RackTraffic.Reads(partitions, total);
        RackTraffic traffic = new RackTraffic(sources, new RackTraffic.Reads(new int[60][3], new int[60]), racks);
        Placement placement =
                RebalancePlanner.answer(snapshot, null, traffic, Timing.NONE).placement();
        int crossings = 0;
        for (int t = 0; t < 60; t++) {
            crossings += traffic.crossingsOfActive(t, placement.active()[t]);
        }
        assertEquals(0, crossings);
        assertEquals(0, placement.imbalance(snapshot));
    }

    /** Random groups with tags, capacities and draining clients settle, without actives on draining clients. */
    @Test
    void randomGroupsSettle() {
        int drained = 0;
        int groups = Cases.count(200);
        for (int seed = 0; seed < groups; seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.random(random);
            group.rackTags = random.nextBoolean() ? List.of("zone") : List.of("cluster", "zone");
            for (TestGroup.Client client : group.clients) {
                Map<String, String> tags = new HashMap<>();
                tags.put("optassign.capacity", String.valueOf(0.5 + random.nextInt(4)));
                tags.put("optassign.draining", String.valueOf(random.nextInt(6) == 0));
                if (random.nextInt(8) > 0) {
                    tags.put("zone", "z" + random.nextInt(3));
                }
                tags.put("cluster", "c" + random.nextInt(2));
                client.tags = tags;
            }
            StringBuilder history = new StringBuilder("seed " + seed);
            AppliedAnswer applied = null;
            RebalancePlanner.Result result = null;
            for (int step = 0; step < 80 && (result == null || result.followupMs() >= 0); step++) {
                result = RebalancePlanner.answer(group.snapshot(), applied);
                Answer answer = RebalancePlanner.toAnswer(group.snapshot(), result);
                history.append("\n").append(group).append("\n-> ").append(answer);
                assertEquals(List.of(), Rules.broken(group, answer), history::toString);
                applied = group.remembered(answer);
                group.settle(answer, false);
                group.clients.forEach(client -> client.lags.values().removeIf(lag -> lag == -3));
            }
            assertEquals(-1, result.followupMs(), history::toString);
            Snapshot snapshot = group.snapshot();
            RebalancePlanner.Result again = RebalancePlanner.answer(snapshot, applied);
            assertTrue(again.placement().hasSameCopies(result.placement()), history::toString);
            for (int c = 0; c < snapshot.clientCount(); c++) {
                int client = c;
                if (snapshot.isDraining(c)) {
                    drained++;
                    long left = Arrays.stream(result.placement().active())
                            .filter(active -> active == client)
                            .count();
                    assertEquals(0, left, history::toString);
                }
            }
        }
        assertTrue(drained > groups * 0.3, "hardly a client drains: " + drained);
    }

    /** Plans are balanced and spread over zones wherever state is, even if some clients drain. */
    @Test
    void plansAreEvenInZonesWhoeverHasState() {
        for (int seed = 0; seed < 40; seed++) {
            Random random = new Random(seed);
            TestGroup group = inZones(9, 3, 45, 1);
            for (int c = 0; c < 9; c++) {
                if (random.nextInt(5) == 0) {
                    group.client(c).tags = Map.of("zone", "zone-" + c / 3, "optassign.draining", "true");
                }
            }
            for (int t = 0; t < 45; t++) {
                int owner = random.nextInt(7);
                group.runs(owner, "0_" + t);
                int standby = random.nextInt(8);
                if (standby != owner) {
                    group.holds(standby, "0_" + t, random.nextInt(3) * 1000);
                }
            }
            Snapshot snapshot = group.snapshot();
            Placement plan = planOf(RebalancePlanner.answer(snapshot, null));
            assertEquals(0, plan.imbalance(snapshot), "seed " + seed);
            assertEquals(90, plan.measureTagSpread(snapshot), "seed " + seed);
        }
    }
}
