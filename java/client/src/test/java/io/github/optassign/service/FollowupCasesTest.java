package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.GroupDetails;
import io.github.optassign.testing.TestGroup;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/**
 * Cases of random groups under the fallback, with random times between answers. Each snapshot is written with its
 * answer, and with the answer without offload, to {@code target/followup-cases.jsonl.gz}. Tests in Python compare
 * delays, slots and offload with those of the service (tests/java/test_followups.py).
 */
class FollowupCasesTest {
    private static final int GROUPS = Cases.count(200);
    private static final int LONGEST = 12;
    private static final Path CASES = Path.of("target", "followup-cases.jsonl.gz");

    @Test
    void writeCases() throws Exception {
        int early = 0;
        try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(CASES));
                OutputStream out = new GZIPOutputStream(file)) {
            for (int seed = 0; seed < GROUPS; seed++) {
                Random random = new Random(seed);
                TestGroup group = TestGroup.random(random);
                long perSecond = (long) Math.pow(10, 1 + 4 * random.nextDouble());
                AppliedAnswer applied = null;
                String remembered = null;
                Instant now = Instant.parse("2026-01-01T00:00:00Z");
                for (int step = 0; step < LONGEST; step++) {
                    Snapshot snapshot = group.snapshot();
                    Timing timing = new Timing(now.toEpochMilli(), false);
                    RebalancePlanner.Result result =
                            RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, timing);
                    Answer answer = RebalancePlanner.toAnswer(snapshot, result);
                    String json = AnswerWriter.write(answer, result.stalled(), result.toBalanceMs());
                    out.write("""
                            {"seed": %s, "step": %s, "snapshot": %s, "answer": %s, "without_offload": %s}
                            """.formatted(
                                    seed,
                                    step,
                                    GroupDetails.toJson(group, now, remembered),
                                    json,
                                    answerWithoutOffload(snapshot, applied, timing))
                            .getBytes(StandardCharsets.UTF_8));
                    early += result.followupMs() >= 0 && result.followupMs() < 600_000 ? 1 : 0;
                    if (result.followupMs() < 0) {
                        break;
                    }
                    remembered = json;
                    applied = group.remembered(AnswerReader.read(json, snapshot));
                    long passedMs = findTime(result.followupMs(), random);
                    group.restore(answer, Math.max(0, passedMs) * perSecond / 1_000);
                    if (random.nextInt(4) == 0) {
                        group.grow(answer, 0.02, random);
                    }
                    now = now.plusMillis(passedMs);
                }
            }
        }
        assertTrue(early > GROUPS / 2, "too few follow-ups by an estimate: " + early);
    }

    private static String answerWithoutOffload(Snapshot snapshot, AppliedAnswer applied, Timing timing)
            throws IOException {
        Timing dear = new Timing(timing.takenAtMs(), timing.isByInterval(), Timing.Prices.NO_OFFLOAD);
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, dear);
        return AnswerWriter.write(RebalancePlanner.toAnswer(snapshot, result), result.stalled(), result.toBalanceMs());
    }

    /**
     * Returns the time until the next rebalance: as asked, sooner, at once, late, or negative because a clock was set
     * back.
     */
    private static long findTime(long askedMs, Random random) {
        return switch (random.nextInt(8)) {
            case 0 -> random.nextInt(1_500);
            case 1 -> askedMs * 3;
            case 2 -> (long) (askedMs * random.nextDouble());
            case 3 -> random.nextInt(4) == 0 ? -random.nextInt(100_000) : askedMs;
            default -> askedMs;
        };
    }
}
