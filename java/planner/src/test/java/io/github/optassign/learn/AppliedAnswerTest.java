package io.github.optassign.learn;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.Answer;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.TestGroup;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The detection of superseded answers, and the date of an answer that replaces a remembered one. */
class AppliedAnswerTest {
    private static final int GROUPS = 300;

    /** Returns the record of the planner's answer to a group. */
    private static AppliedAnswer decide(TestGroup group, AppliedAnswer last) {
        return group.remembered(RebalancePlanner.answer(group.snapshot(), last));
    }

    /**
     * An answer is not superseded if it reaches no client, if all or some clients complete its first pass, or if it is
     * carried out.
     */
    @Test
    void ownAnswersAreNeverOvertaken() {
        for (int seed = 0; seed < GROUPS; seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.random(random);
            AppliedAnswer last = decide(group, null);
            StringBuilder history = new StringBuilder("seed ").append(seed);
            for (int step = 0; step < 8; step++) {
                int what = random.nextInt(4);
                history.append("\n")
                        .append(group)
                        .append("\n-> ")
                        .append(last.answer())
                        .append("\n")
                        .append(what);
                switch (what) {
                    case 0 -> history.append(" aborted");
                    case 1 -> group.firstPass(last.answer());
                    case 2 -> group.firstPass(last.answer(), client -> random.nextBoolean());
                    default -> group.settle(last.answer(), random.nextBoolean());
                }
                assertFalse(last.isSuperseded(group.snapshot()), history + "\n" + group);
                last = decide(group, last);
            }
        }
    }

    /** A task runs on another client after an answer was carried out, so another leader has moved it. */
    @Test
    void answersOfAnotherLeaderAreNoticed() {
        int noticed = 0;
        for (int seed = 0; seed < GROUPS; seed++) {
            Random random = new Random(seed);
            TestGroup group = TestGroup.random(random);
            AppliedAnswer last = decide(group, null);
            group.settle(last.answer(), false);
            last = decide(group, last);
            group.settle(last.answer(), false);
            last = decide(group, last);
            if (group.clients.size() < 2 || !owners(group).equals(owners(last.answer()))) {
                continue; // unless the group is at rest, several clients may own a task
            }
            String task = group.tasks.keySet().stream()
                    .skip(random.nextInt(group.tasks.size()))
                    .findFirst()
                    .orElseThrow();
            int owner = -1;
            for (int c = 0; c < group.clients.size(); c++) {
                if (group.client(c).active.contains(task)) {
                    group.stops(c, task);
                    owner = c;
                }
            }
            assertFalse(last.isSuperseded(group.snapshot()), "in transit; seed " + seed);
            group.runs((owner + 1) % group.clients.size(), task);
            assertTrue(last.isSuperseded(group.snapshot()), "seed " + seed + " task " + task + "\n" + group);
            noticed++;
        }
        assertTrue(noticed > 100, "hardly any group is at rest: " + noticed);
    }

    private static Map<String, String> owners(TestGroup group) {
        Map<String, String> owners = new TreeMap<>();
        group.clients.forEach(client -> client.active.forEach(task -> owners.put(task, client.name())));
        return owners;
    }

    private static Map<String, String> owners(Answer answer) {
        Map<String, String> owners = new TreeMap<>();
        answer.clients().forEach(client -> client.active().forEach(task -> owners.put(task, client.processId())));
        return owners;
    }

    @Test
    void newTaskAndNewClientAreNoSignOfAnotherLeader() {
        TestGroup group = TestGroup.of(2).tasks(0, 2, TestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0").runs(1, "0_1");
        AppliedAnswer last = decide(group, null);
        group.tasks(1, 1, TestGroup.Kind.STATELESS, 0).runs(1, "1_0");
        group.clients.add(new TestGroup.Client(3));
        assertFalse(last.isSuperseded(group.snapshot()));
    }

    @Test
    void answerIsDatedLaterThanWhatItReplaces() {
        TestGroup group = TestGroup.of(1);
        Answer answer = new Answer("cp-sat", List.of(), null, List.of());
        long now = System.currentTimeMillis();
        assertTrue(AppliedAnswer.dateAfter(null) >= now);
        AppliedAnswer past = AppliedAnswer.of("{}", now - 5_000, answer, group.snapshot());
        assertTrue(AppliedAnswer.dateAfter(past) >= now);
        long tomorrow = now + TimeUnit.DAYS.toMillis(1);
        AppliedAnswer ahead = AppliedAnswer.of("{}", tomorrow, answer, group.snapshot());
        long next = AppliedAnswer.dateAfter(ahead);
        assertTrue(next > tomorrow && next < tomorrow + 60_000, next + " after " + tomorrow);
        AppliedAnswer hourAgo = new AppliedAnswer(
                "{}",
                tomorrow,
                answer,
                ahead.profiles(),
                ahead.owners(),
                ahead.decidedNanos() - TimeUnit.HOURS.toNanos(1),
                true);
        long hourOn = tomorrow + TimeUnit.HOURS.toMillis(1);
        assertTrue(AppliedAnswer.dateAfter(hourAgo) > hourOn, "time goes on by that clock too");
    }
}
