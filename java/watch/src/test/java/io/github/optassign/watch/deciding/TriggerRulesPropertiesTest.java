package io.github.optassign.watch.deciding;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.watch.deciding.Decision.Action;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Properties of the rules for random groups; messages name the seeds. */
class TriggerRulesPropertiesTest {
    private static final Limits LIMITS =
            new Limits(WatchedTestGroup.ACCEPTABLE, 2_000, 10_000, 60_000, 30_000, 60_000, 300_000, 20, 3);
    /** The number of seeds, small by default, as in tests of other modules. */
    private static final int SEEDS = 20 * Integer.getInteger("cases.times", 1);

    private static final long HOUR_MS = 3_600_000;

    private final TriggerRules rules = new TriggerRules(LIMITS);

    /** Returns a group of random size whose last process has joined, with warm-ups at random lags. */
    private static WatchedTestGroup draw(Random random) {
        WatchedTestGroup group = new WatchedTestGroup();
        int processes = 2 + random.nextInt(4);
        for (int c = 0; c < processes; c++) {
            group.processes("p" + c);
        }
        group.standbys = random.nextInt(2);
        int count = 1 + random.nextInt(12);
        for (int p = 0; p < count; p++) {
            TaskId task = WatchedTestGroup.task(p);
            int owner = random.nextInt(processes);
            group.task(task, "p" + owner);
            for (int k = 1; k <= group.standbys + random.nextInt(2) && k < processes; k++) {
                group.standby(task, "p" + (owner + k) % processes, random.nextInt(5) * 500L - 500);
            }
        }
        return group;
    }

    private static void disturb(WatchedTestGroup group, Random random) {
        switch (random.nextInt(9)) {
            case 0 -> group.epoch++;
            case 1 -> group.phase = GroupView.Phase.values()[random.nextInt(3)];
            case 2 -> group.progress = random.nextInt(3);
            case 3 -> group.units.put("p" + random.nextInt(5), (long) random.nextInt(3));
            case 4 -> group.isConfigChanged = random.nextBoolean();
            case 5 -> group.lags.replaceAll((copy, lag) -> random.nextInt(5) * 500L);
            case 6 ->
                group.restoring.put(
                        new Copy(WatchedTestGroup.task(0), "p" + random.nextInt(2)),
                        new RestoringActive("t", random.nextInt(3) * 500L, random.nextInt(3) * 800L));
            case 7 -> group.active.get(WatchedTestGroup.task(0)).set(0, "p" + random.nextInt(2));
            default -> group.standby(WatchedTestGroup.task(0), "p" + random.nextInt(2), random.nextInt(3000));
        }
    }

    @Test
    void neverStorms() {
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            WatchedTestGroup group = draw(random);
            List<Long> acted = new ArrayList<>();
            long nowMs = 0;
            for (int i = 0; i < 1500; i++) {
                nowMs += random.nextInt(20_000);
                if (random.nextInt(3) == 0) {
                    disturb(group, random);
                }
                if (WatchedTestGroup.changesConfig(group.look(rules, nowMs))) {
                    acted.add(nowMs);
                    group.epoch++;
                }
            }
            for (int i = 1; i < acted.size(); i++) {
                assertTrue(acted.get(i) - acted.get(i - 1) >= LIMITS.pauseMs() / 5, "seed " + seed);
                // Five triggers, with pauses of 2, 4, 8 and 10 seconds.
                assertTrue(i < 4 || acted.get(i) - acted.get(i - 4) >= 24_000, "seed " + seed);
            }
            for (int i = LIMITS.mostPerHour(); i < acted.size(); i++) {
                assertTrue(acted.get(i) - acted.get(i - LIMITS.mostPerHour()) >= HOUR_MS, "seed " + seed);
            }
        }
    }

    @Test
    void stopsIfNothingChangesAndRestoresTheConfig() {
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            WatchedTestGroup group = draw(random);
            group.isConfigChanged = random.nextBoolean();
            boolean isAnswering = random.nextBoolean();
            int triggers = 0;
            Action last = Action.NOTHING;
            for (long nowMs = 0; nowMs < 4 * HOUR_MS; nowMs += 10_000) {
                Decision decision = group.look(rules, nowMs);
                last = decision.action();
                triggers += last == Action.TRIGGER ? 1 : 0;
                group.epoch += isAnswering && WatchedTestGroup.changesConfig(decision) ? 1 : 0;
            }
            assertEquals(Action.NOTHING, last, "seed " + seed);
            assertEquals(false, group.isConfigChanged, "seed " + seed);
            assertTrue(triggers <= 1 + LIMITS.mostTries(), "seed " + seed + ": " + triggers);
        }
    }

    @Test
    void caughtUpWarmupsAreSoonActive() {
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            WatchedTestGroup group = draw(random);
            int triggers = 0;
            int warming = new GroupAssessment(group.view(), WatchedTestGroup.ACCEPTABLE)
                    .tasksWithWarmups()
                    .size();
            for (long nowMs = 0; nowMs < HOUR_MS / 4; nowMs += 10_000) {
                group.lags.replaceAll((copy, lag) -> Math.max(0, lag - random.nextInt(50)));
                if (WatchedTestGroup.changesConfig(group.look(rules, nowMs))) {
                    triggers++;
                    group.assign();
                }
            }
            GroupAssessment end = new GroupAssessment(group.view(), WatchedTestGroup.ACCEPTABLE);
            boolean anyReady = end.caughtUp().stream()
                    .anyMatch(copy -> end.tasksWithWarmups().contains(copy.task()));
            assertEquals(false, anyReady, "seed " + seed);
            assertTrue(triggers <= 2 * warming + 2 * LIMITS.mostTries() + 4, "seed " + seed + ": " + triggers);
        }
    }
}
