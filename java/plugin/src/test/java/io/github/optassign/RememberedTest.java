package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import com.fasterxml.jackson.databind.JsonNode;
import io.github.optassign.learn.Memories;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The earlier answer that is sent to the service, and its date. */
class RememberedTest extends AgainstAService {
    @Test
    void appliedAnswerGoesBackUnalteredWithTheNextInstance() throws IOException {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertFalse(sent(0).has("remembered"));
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertTrue(service.bodies.get(1).contains(VALID), "the text as it was");
        assertEquals("1780000000000", service.headers.get(1).getFirst("Optassign-Remembered-At"));
        assertEquals(JSON.readTree(VALID), sent(1).get("remembered"));
    }

    @Test
    void refusedAnswerIsNotRemembered() throws IOException {
        rebalance(group(), Map.of(), AssignmentError.UNKNOWN_TASK_ID);
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertFalse(sent(1).has("remembered"));
        assertEquals(1, log.of(Level.ERROR).size());
    }

    @Test
    void fallbacksAnswerIsRememberedToo() throws IOException {
        service.behaviour = FakeService::refuse;
        rebalance(group(), Map.of(), AssignmentError.NONE);
        rebalance(group(), Map.of(), AssignmentError.NONE);
        JsonNode remembered = sent(1).get("remembered");
        assertEquals("fallback", remembered.get("assignor").asText());
        assertEquals(
                "0_0", remembered.get("clients").get(0).get("active").get(0).asText());
        assertTrue(Long.parseLong(service.headers.get(1).getFirst("Optassign-Remembered-At")) > 0);
    }

    /** The service's clock is a day ahead, and a later answer of the fallback still gets a later date. */
    @Test
    void fallbacksAnswerIsDatedLaterThanTheServices() throws IOException {
        long tomorrow = System.currentTimeMillis() + Duration.ofDays(1).toMillis();
        assertEquals(tomorrow, answeredAt(Long.toString(tomorrow)));
        service.behaviour = FakeService::refuse;
        rebalance(group(), Map.of(), AssignmentError.NONE);
        rebalance(group(), Map.of(), AssignmentError.NONE);
        int last = service.bodies.size() - 1;
        assertEquals("fallback", sent(last).get("remembered").get("assignor").asText());
        long dated = Long.parseLong(service.headers.get(last).getFirst("Optassign-Remembered-At"));
        assertTrue(dated > tomorrow && dated < tomorrow + 600_000, dated + " after " + tomorrow);
    }

    /**
     * Runs two rebalances.
     *
     * @param given the date in the service's answer
     * @return the date that the plug-in sends back
     */
    private long answeredAt(String given) {
        service.behaviour = (exchange, body) -> {
            exchange.getResponseHeaders().set("Optassign-Answered-At", given);
            return VALID;
        };
        rebalance(group(), Map.of(), AssignmentError.NONE);
        rebalance(group(), Map.of(), AssignmentError.NONE);
        return Long.parseLong(service.headers.get(service.bodies.size() - 1).getFirst("Optassign-Remembered-At"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "253000000000000", "9223372036854775807", "9223372036854775808", "now", ""})
    void impossibleDatesAreReplacedByTheCurrentTime(String given) {
        long before = System.currentTimeMillis();
        long dated = answeredAt(given);
        assertTrue(dated >= before && dated <= System.currentTimeMillis(), dated + " after " + before);
    }

    /** The date of a service whose clock is wrong by days is accepted, since its next answers have the same clock. */
    @Test
    void datesThatAreWrongByDaysAreAccepted() {
        assertEquals(0, answeredAt("0"));
        Memories.clearAll();
        long ahead = System.currentTimeMillis() + Duration.ofDays(6).toMillis();
        assertEquals(ahead, answeredAt(Long.toString(ahead)));
        Memories.clearAll();
        long far = System.currentTimeMillis() + Duration.ofDays(8).toMillis();
        assertTrue(answeredAt(Long.toString(far)) < ahead);
    }

    /** This JVM's clock was years ahead. The answer of that time is forgotten, and the service answers again. */
    @Test
    void answerDatedInTheFarFutureIsForgotten() throws IOException {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        Memories.redate(
                "orders", System.currentTimeMillis() + Duration.ofDays(3_650).toMillis());
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertFalse(sent(1).has("remembered"));
        assertEquals(List.of(), log.warnings());
    }

    /** The service's clock is too far behind. It refuses the date, gets a request without one, and answers at once. */
    @Test
    void dateThatTheServiceRefusesIsForgotten() throws IOException {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        service.behaviour = (exchange, body) -> {
            if (exchange.getRequestHeaders().containsKey("Optassign-Remembered-At")) {
                FakeService.reply(
                        exchange,
                        400,
                        "{\"error\": \"the date is too far in the future\", \"where\": \"Optassign-Remembered-At\"}");
                return null;
            }
            return VALID;
        };
        TaskAssignment assignment = rebalance(group(), Map.of(), AssignmentError.NONE);
        assertEquals(Map.of("0_0", 2, "0_1", 1, "1_0", 1), Assignments.owners(assignment));
        assertEquals(3, service.bodies.size());
        assertTrue(sent(1).has("remembered"));
        assertFalse(sent(2).has("remembered"));
        assertEquals(1, log.warnings().size(), log.all().toString());
        assertWarned("the last answer is forgotten");
    }

    /** This process leads again after another leader has moved a task. */
    @Test
    void memoryThatAnotherLeaderHasOvertakenIsNotSent() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(2)
                .tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 100)
                .tasks(1, 1, StreamsTestGroup.Kind.UNLOGGED, 0);
        group.runs(0, "0_1", "1_0").runs(1, "0_0");
        rebalance(group, Map.of(), AssignmentError.NONE);
        rebalance(group, Map.of(), AssignmentError.NONE);
        assertTrue(sent(1).has("remembered"), "all is as the answer says");
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertFalse(sent(2).has("remembered"));
        assertNull(service.headers.get(2).getFirst("Optassign-Remembered-At"));
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertTrue(sent(3).has("remembered"), "the answer did not arrive, but it still is the last one");
    }

    @Test
    void applicationsHaveMemoriesOfTheirOwn() throws IOException {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        rebalance(group(), Map.of("optassign.application", "payments"), AssignmentError.NONE);
        assertFalse(sent(1).has("remembered"));
        assertEquals("payments", sent(1).get("application").asText());
    }

    @Test
    void fallbackContinuesFromTheServicesPlan() {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        service.close();
        for (int fallback = 1; fallback <= 3; fallback++) {
            TaskAssignment assignment = rebalance(group(), Map.of(), AssignmentError.NONE);
            assertEquals(Map.of("0_0", 2, "0_1", 1, "1_0", 1), Assignments.owners(assignment), "fallback " + fallback);
        }
    }
}
