package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Snapshot;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/**
 * Cases of right and wrong answers of random groups. Each is written with its snapshot and verdict to
 * {@code target/answer-cases.jsonl.gz}, which tests in Python compare with the validator
 * (tests/java/test_answer_check.py).
 */
class AnswerCasesTest {
    private static final int GROUPS = Cases.count(300);
    private static final Path CASES = Path.of("target", "answer-cases.jsonl.gz");

    @Test
    void writeCases() throws IOException {
        int right = 0;
        int wrong = 0;
        try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(CASES));
                OutputStream out = new GZIPOutputStream(file)) {
            for (int seed = 0; seed < GROUPS; seed++) {
                Random random = new Random(seed);
                TestGroup group = TestGroup.random(random);
                for (TestGroup.Client client : group.clients) {
                    client.tags = Map.of("optassign.draining", String.valueOf(random.nextInt(8) == 0));
                }
                AppliedAnswer applied = null;
                if (random.nextInt(3) == 0) { // the second pass of a move
                    applied = group.remembered(RebalancePlanner.answer(group.snapshot(), null));
                    group.firstPass(applied.answer());
                }
                Snapshot snapshot = group.snapshot();
                Answer answer = RebalancePlanner.toAnswer(snapshot, RebalancePlanner.answer(snapshot, applied));
                String remembered = applied == null ? null : AnswerWriter.write(applied.answer(), false);
                for (int spoils = 0; spoils < 3; spoils++) {
                    String why = judge(snapshot, answer);
                    right += why == null ? 1 : 0;
                    wrong += why == null ? 0 : 1;
                    out.write("""
                            {"seed": %s, "snapshot": %s, "answer": %s, "why": %s}
                            """.formatted(
                                    seed,
                                    GroupDetails.toJson(group, Instant.EPOCH, remembered),
                                    AnswerWriter.write(answer, false),
                                    quote(why))
                            .getBytes(StandardCharsets.UTF_8));
                    answer = spoil(snapshot, answer, random);
                }
            }
        }
        assertTrue(right > GROUPS && wrong > GROUPS / 2, right + " right, " + wrong + " wrong");
    }

    /** Returns why the answer must not be applied, or null if it may. */
    private static String judge(Snapshot snapshot, Answer answer) throws IOException {
        try {
            Answer read = AnswerReader.read(AnswerWriter.write(answer, false), snapshot);
            RuleCheck.check(snapshot, read, AnswerCheck.check(snapshot, read));
            return null;
        } catch (WrongAnswer e) {
            return e.getMessage();
        }
    }

    private static String quote(String text) {
        return text == null
                ? null
                : '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }

    /**
     * Returns an answer with one change, possibly a valid one: a copy is moved, removed or added, or changes roles, or
     * a client asks for a follow-up.
     */
    private static Answer spoil(Snapshot snapshot, Answer answer, Random random) {
        List<Answer.Client> clients = new ArrayList<>();
        for (Answer.Client client : answer.clients()) {
            clients.add(new Answer.Client(
                    client.processId(),
                    new ArrayList<>(client.active()),
                    new ArrayList<>(client.standby()),
                    new ArrayList<>(client.warmup()),
                    client.followupMs()));
        }
        Answer.Client from = clients.get(random.nextInt(clients.size()));
        Answer.Client to = clients.get(random.nextInt(clients.size()));
        List<String> out = List.of(from.active(), from.standby(), from.warmup()).get(random.nextInt(3));
        List<String> in = List.of(to.active(), to.standby(), to.warmup()).get(random.nextInt(3));
        switch (random.nextInt(5)) {
            case 0 -> in.add(snapshot.taskName(random.nextInt(snapshot.taskCount())));
            case 1 ->
                clients.set(
                        clients.indexOf(to),
                        new Answer.Client(to.processId(), to.active(), to.standby(), to.warmup(), 600_000L));
            default -> {
                if (!out.isEmpty()) {
                    String task = out.remove(random.nextInt(out.size()));
                    if (random.nextInt(6) > 0) {
                        in.add(task);
                    }
                }
            }
        }
        return new Answer("spoilt", clients, answer.plan(), answer.progress());
    }
}
