package io.github.optassign.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Lags by task and client, compared with an array of all lags. */
class TaskLagsTest {
    private static final int TASKS = 6;

    @Test
    void lagIsTheLastOneThatWasSet() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            int clients = 1 + random.nextInt(30);
            long[] common = random.longs(TASKS, -3, 4).toArray();
            TaskLags lags = new TaskLags(common.clone(), clients);
            long[][] all = new long[TASKS][clients];
            for (int t = 0; t < TASKS; t++) {
                Arrays.fill(all[t], common[t]);
            }
            for (int c = 0; c < clients; c++) {
                for (int i = random.nextInt(2 * TASKS); i > 0; i--) {
                    int t = random.nextInt(TASKS);
                    long lag = random.nextLong(-3, 4);
                    lags.set(t, c, lag);
                    all[t][c] = lag;
                }
            }
            int odd = random.nextInt(2);
            for (int t = 0; t < TASKS; t++) {
                long greatest = -1;
                for (int c = 0; c < clients; c++) {
                    assertEquals(all[t][c], lags.of(t, c), "seed " + seed);
                    greatest = c % 2 == odd ? Math.max(greatest, all[t][c]) : greatest;
                }
                assertEquals(greatest, lags.findGreatest(t, c -> c % 2 == odd), "seed " + seed);
                assertEquals(
                        Arrays.stream(all[t]).anyMatch(lag -> lag == Snapshot.UNKNOWN),
                        lags.isAnyUnknown(t),
                        "seed " + seed);
            }
        }
    }
}
