package io.github.optassign;

import static io.github.optassign.testing.SixTasks.EVEN;
import static io.github.optassign.testing.SixTasks.NEVER;
import static io.github.optassign.testing.SixTasks.ODD;
import static io.github.optassign.testing.SixTasks.RIGHT;
import static io.github.optassign.testing.SixTasks.answer;
import static io.github.optassign.testing.SixTasks.client;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.SixTasks;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A hostile service, whose answers are well-formed and would be accepted by Kafka. */
class HostileServiceTest extends AgainstAService {
    private record Attack(String name, String answer, String why) {}

    @TestFactory
    Stream<DynamicTest> answersThatBreakARule() {
        return Stream.of(
                        new Attack(
                                "all actives to the empty client",
                                answer(
                                        client(1, "", EVEN, "", NEVER),
                                        client(2, "", ODD, "", NEVER),
                                        client(3, EVEN + "," + ODD, "", "", NEVER)),
                                "R3: found task 0_0 active on 00000000-0000-0000-0000-000000000003 of rank 1000000"),
                        new Attack(
                                "no standbys",
                                answer(
                                        client(1, EVEN, "", "", NEVER),
                                        client(2, ODD, "", "", NEVER),
                                        client(3, "", "", "", NEVER)),
                                "R4: found 0 standbys of task 0_0; allowed: exactly 1"),
                        new Attack(
                                "standbys on the empty client",
                                answer(
                                        client(1, EVEN, "", "", NEVER),
                                        client(2, ODD, "", "", NEVER),
                                        client(3, "", EVEN + "," + ODD, "", NEVER)),
                                "R5: found a standby of task 0_0 on 00000000-0000-0000-0000-000000000003 of rank"),
                        new Attack(
                                "more warm-ups than allowed",
                                answer(
                                        client(1, EVEN, ODD, "", NEVER),
                                        client(2, ODD, EVEN, "", NEVER),
                                        client(3, "", "", EVEN, NEVER)),
                                "R6: found 3 warm-ups; allowed: at most 2 (max.warmup.replicas)"),
                        new Attack(
                                "all clients ask for a follow-up",
                                answer(
                                        client(1, EVEN, ODD, "", 1_000L),
                                        client(2, ODD, EVEN, "", 1_000L),
                                        client(3, "", "", "", 1_000L)),
                                "R8: found a follow-up asked for by 00000000-0000-0000-0000-000000000002"),
                        new Attack(
                                "a plan without standbys",
                                answer(
                                                client(1, EVEN, ODD, "", NEVER),
                                                client(2, ODD, EVEN, "", NEVER),
                                                client(3, "", "", "", NEVER))
                                        .replace(
                                                "]}",
                                                "], \"plan\": ["
                                                        + client(1, EVEN + "," + ODD, "", "", NEVER) + ","
                                                        + client(2, "", "", "", NEVER) + ","
                                                        + client(3, "", "", "", NEVER) + "]}")
                                        .replaceFirst("null\\], \"plan\"", "null}], \"plan\""),
                                "R4: found 0 standbys of task 0_0 in the plan"))
                .map(attack -> DynamicTest.dynamicTest(attack.name(), () -> {
                    Memories.clearAll();
                    service.behaviour = (exchange, body) -> attack.answer();
                    TaskAssignment assignment = rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
                    Map<String, Integer> owners = Assignments.owners(assignment);
                    IntStream.range(0, 6).forEach(i -> assertEquals(1 + i % 2, owners.get("0_" + i)));
                    List<String> warnings = log.warnings();
                    String line = warnings.get(warnings.size() - 1);
                    assertTrue(line.contains(attack.why()), line);
                }));
    }

    private static final String WRONG =
            answer(client(1, EVEN, "", "", NEVER), client(2, ODD, "", "", NEVER), client(3, "", "", "", NEVER));

    /** After wrong answers the service is asked with growing pauses; a right answer closes the breaker. */
    @Test
    void wrongAnswersDelayTheNextRequest() {
        service.behaviour = (exchange, body) -> WRONG;
        long pauseMs = 5_000;
        for (int wrong = 1; wrong <= 3; wrong++) {
            rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
            assertEquals(wrong, service.bodies.size());
            rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
            assertEquals(wrong, service.bodies.size(), "not asked");
            String line = log.warnings().get(log.warnings().size() - 1);
            assertTrue(line.contains("not asked, but again in " + pauseMs / 1_000 + " s: " + wrong + " failure"), line);
            assertTrue(line.contains("in a row, the last: R4: found 0 standbys"), line);
            Memories.advancePause("orders", pauseMs);
            pauseMs *= 2;
        }
        service.behaviour = (exchange, body) -> RIGHT;
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertEquals(5, service.bodies.size());
    }

    @Test
    void refusalsDoNotDelayTheNextRequest() {
        service.behaviour = FakeService::refuse;
        for (int i = 1; i <= 3; i++) {
            rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
            assertEquals(i, service.bodies.size());
        }
    }

    /**
     * The answer is right, but its plan puts as much on one client as the rules allow; the fallback does not follow
     * that plan.
     */
    @Test
    void wrongPlanDoesNotLiveOnInTheFallback() throws IOException {
        String all = EVEN + "," + ODD;
        String plan = client(1, "", all, "", NEVER) + "," + client(2, all, "", "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        service.behaviour = (exchange, body) -> RIGHT.substring(0, RIGHT.length() - 1) + ", \"plan\": [" + plan + "]}";
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertEquals(List.of(), log.warnings());
        service.close();
        StreamsTestGroup group = SixTasks.group();
        group.client(2).lags.clear();
        TaskAssignment assignment = rebalance(group, Map.of(), AssignmentError.NONE);
        Map<String, Integer> owners = Assignments.owners(assignment);
        assertEquals(3, owners.values().stream().filter(owner -> owner == 2).count(), owners.toString());
    }

    /** Returns a right answer whose report waits for copies of unknown tasks and clients. */
    private static String withProgressOfUnknownCopies(int copies) {
        String entry = "{\"task\": \"%d_9\", \"process_id\": \"gone\", \"lag\": 1, \"answers_without_progress\": 0}";
        String entries = IntStream.range(0, copies).mapToObj(entry::formatted).collect(Collectors.joining(","));
        return RIGHT.substring(0, RIGHT.length() - 1) + ", \"report\": {\"warmup_progress\": [" + entries + "]}}";
    }

    /** The memory of an answer depends on the snapshot, not on the service's text. */
    @Test
    void answerIsReadInProportionToTheSnapshot() {
        service.behaviour = (exchange, body) -> withProgressOfUnknownCopies(2_000);
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertEquals(List.of(), log.warnings());
        assertEquals(0, Memories.countProgress("orders"), "of unknown tasks");
        service.behaviour = (exchange, body) -> withProgressOfUnknownCopies(20_000);
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertTrue(
                log.warnings().get(0).contains("found more than 2"),
                log.warnings().get(0));
    }

    @Test
    void listsThatAreLongerThanTheSnapshotEnd() {
        String zeros = String.join(",", java.util.Collections.nCopies(10_000, "0_0"));
        service.behaviour = (exchange, body) ->
                answer(client(1, zeros, "", "", NEVER), client(2, "", "", "", NEVER), client(3, "", "", "", NEVER));
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertTrue(
                log.warnings().get(0).contains("clients[0].active: found more than 6 tasks"),
                log.warnings().get(0));
    }

    /** The plug-in asks a busy service again while there is time. */
    @Test
    void serviceThatIsBusyIsAskedAgainInTime() {
        service.behaviour = (exchange, body) -> {
            if (service.bodies.size() == 1) {
                exchange.getResponseHeaders().set("Retry-After", "1");
                return FakeService.refuse(exchange, body);
            }
            return RIGHT;
        };
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertEquals(List.of(), log.warnings());
        assertEquals(2, service.bodies.size());
        long first = Long.parseLong(service.headers.get(0).getFirst("Optassign-Deadline-Ms"));
        long second = Long.parseLong(service.headers.get(1).getFirst("Optassign-Deadline-Ms"));
        assertTrue(second <= first - 1_000, "less is left: " + second + " of " + first);
    }

    @Test
    void serviceThatIsBusyForTooLongIsNotAwaited() {
        for (String retryAfter : List.of("61", "999999", "9999999999", "-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT")) {
            int calls = service.bodies.size();
            service.behaviour = (exchange, body) -> {
                exchange.getResponseHeaders().set("Retry-After", retryAfter);
                return FakeService.refuse(exchange, body);
            };
            long start = System.nanoTime();
            rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
            assertTrue(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) < 60_000, retryAfter);
            assertEquals(calls + 1, service.bodies.size(), retryAfter);
        }
    }
}
