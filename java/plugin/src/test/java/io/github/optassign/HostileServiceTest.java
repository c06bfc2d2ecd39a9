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
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A hostile service, whose answers are well-formed and would be accepted by Kafka. */
class HostileServiceTest extends AgainstAService {
    /** Each client has actives, standbys and warm-ups, separated by slashes: even tasks (E) or odd tasks (O). */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', textBlock = """
        all actives to the empty client | /E/  | /O/  | EO// | R3: found task 0_0 active on
        no standbys                     | E//  | O//  | //   | R4: found 0 standbys of task 0_0; allowed: exactly 1
        standbys on the empty client    | E//  | O//  | /EO/ | R5: found a standby of task 0_0 on
        more warm-ups than allowed      | E/O/ | O/E/ | //E  | R6: found 3 warm-ups; allowed: at most 2""")
    void answersThatBreakARule(String name, String first, String second, String third, String why) {
        assertRefused(answer(describe(1, first), describe(2, second), describe(3, third)), why);
    }

    @Test
    void allClientsAskForAFollowUp() {
        String answer = RIGHT.replaceAll("\"followup_rebalance_ms\": \\w+", "\"followup_rebalance_ms\": 1000");
        assertRefused(answer, "R8: found a follow-up asked for by 00000000-0000-0000-0000-000000000002");
    }

    @Test
    void thePlanHasNoStandbys() {
        String plan = answer(describe(1, "EO//"), describe(2, "//"), describe(3, "//"));
        String list = plan.substring(plan.indexOf('['), plan.length() - 1);
        String answer = RIGHT.substring(0, RIGHT.length() - 1) + ", \"plan\": " + list + "}";
        assertRefused(answer, "R4: found 0 standbys of task 0_0 in the plan");
    }

    private static String describe(int number, String copies) {
        String tasks = copies.replace("EO", EVEN + "," + ODD).replace("E", EVEN).replace("O", ODD);
        String[] roles = tasks.split("/", -1);
        return client(number, roles[0], roles[1], roles[2], NEVER);
    }

    private void assertRefused(String answer, String why) {
        service.behaviour = (exchange, body) -> answer;
        TaskAssignment assignment = rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        Map<String, Integer> owners = Assignments.owners(assignment);
        IntStream.range(0, 6).forEach(i -> assertEquals(1 + i % 2, owners.get("0_" + i)));
        assertWarned(why);
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
            assertContains("not asked, but again in " + pauseMs / 1_000 + " s: " + wrong + " failure", line);
            assertContains("in a row, the last: R4: found 0 standbys", line);
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

    /** Returns a right answer whose report lists copies of unknown tasks and clients. */
    private static String withProgressOfUnknownCopies(int copies) {
        String entry = "{\"task\": \"%d_9\", \"process_id\": \"gone\", \"lag\": 1, \"answers_without_progress\": 0}";
        String entries = IntStream.range(0, copies).mapToObj(entry::formatted).collect(Collectors.joining(","));
        return RIGHT.substring(0, RIGHT.length() - 1) + ", \"report\": {\"warmup_progress\": [" + entries + "]}}";
    }

    /** The memory that an answer takes is bounded by the snapshot, not by the service's text. */
    @Test
    void answerIsReadInProportionToTheSnapshot() {
        service.behaviour = (exchange, body) -> withProgressOfUnknownCopies(2_000);
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertEquals(List.of(), log.warnings());
        assertEquals(0, Memories.countProgress("orders"), "of unknown tasks");
        service.behaviour = (exchange, body) -> withProgressOfUnknownCopies(20_000);
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertWarned("found more than 2");
    }

    @Test
    void listsThatAreLongerThanTheSnapshotEnd() {
        String zeros = String.join(",", java.util.Collections.nCopies(10_000, "0_0"));
        service.behaviour = (exchange, body) ->
                answer(client(1, zeros, "", "", NEVER), client(2, "", "", "", NEVER), client(3, "", "", "", NEVER));
        rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE);
        assertWarned("clients[0].active: found more than 6 tasks");
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
