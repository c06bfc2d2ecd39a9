package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.optassign.reports.Reporter;
import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The service gets a report on each answer that was applied in place of its own, and no other reports. */
class ReportsTest extends AgainstAService {
    private static final String NAME = "optassign.application";
    /** The application of this test only, since another test's reports may be logged at the same time. */
    private final String own = "reports-" + UUID.randomUUID();

    private final LogLines later = new LogLines(Reporter.class, "application=" + own);

    @AfterEach
    void closeLog() {
        later.close();
    }

    @Test
    void aRefusedAnswerIsReportedWithTheIdOfItsRequest() throws IOException {
        service.behaviour = (exchange, body) -> VALID.replace("\"0_1\", \"1_0\"", "\"0_1\"");
        rebalance(group(), Map.of(NAME, own, "optassign.token", "s3cret"), AssignmentError.NONE);
        service.awaitReports(1);
        var asked = service.headers.get(0);
        var reported = service.reportHeaders.get(0);
        assertEquals(asked.getFirst("Optassign-Rebalance"), reported.getFirst("Optassign-Rebalance"));
        assertEquals("active", reported.getFirst("Optassign-Mode"));
        assertEquals("Bearer s3cret", reported.getFirst("Authorization"));
        JsonNode report = JSON.readTree(service.reports.get(0));
        assertEquals(
                "found task 1_0 active nowhere; allowed: exactly once",
                report.get("why").asText());
        assertEquals("fallback", report.get("applied").get("assignor").asText());
        assertEquals(JSON.readTree(service.bodies.get(0)), report.get("snapshot"));
        assertEquals("application", report.fieldNames().next(), "the service reads it before the rest");
    }

    @Test
    void onlyAcceptedAnswersInPlaceOfTheServicesAreReported() {
        rebalance(group(), Map.of(), AssignmentError.NONE);
        service.behaviour = FakeService::refuse;
        rebalance(group(), Map.of(), AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES);
        rebalance(group(), Map.of("optassign.timeout.ms", 7), AssignmentError.NONE);
        rebalance(group(), Map.of(NAME, "last"), AssignmentError.NONE);
        service.awaitReports(1);
        assertTrue(service.reports.get(0).startsWith("{\"application\":\"last\","), service.reports.get(0));
    }

    @Test
    void rebalancesDuringAnOutageAreReportedAfterIt() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Map<String, String> down = Map.of(NAME, own, "optassign.url", "http://127.0.0.1:" + port);
        rebalance(group(), down, AssignmentError.NONE);
        Awaiting.until(() -> !later.warnings().isEmpty(), () -> "no warning");
        rebalance(group(), down, AssignmentError.NONE);
        try (FakeService back = new FakeService(port)) {
            back.awaitReports(2);
            long first = Long.parseLong(back.reportHeaders.get(0).getFirst("Optassign-Applied-At"));
            long second = Long.parseLong(back.reportHeaders.get(1).getFirst("Optassign-Applied-At"));
            assertTrue(first < second, "in their order");
            JsonNode report = JSON.readTree(back.reports.get(0));
            assertTrue(
                    report.get("why").asText().startsWith("no connection: "),
                    report.get("why").asText());
            Awaiting.until(() -> !later.infos().isEmpty(), () -> "no line");
            // The close below may end the connection before the second reply is read, which is a failure of its own.
            assertEquals(1, later.warnings().size(), "once, however often it is tried");
        }
        assertContains("report: accepted, of rebalance ", later.infos().get(0));
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 404, 413})
    void aRefusedReportDoesNotDelayTheNext(int status) {
        service.behaviour = FakeService::refuse;
        service.reporting = (exchange, body) -> {
            if (body.contains(own)) {
                FakeService.reply(exchange, status, "{\"error\": \"no\"}");
                return null;
            }
            return "{}";
        };
        rebalance(group(), Map.of(NAME, own), AssignmentError.NONE);
        rebalance(group(), Map.of(NAME, "next"), AssignmentError.NONE);
        service.awaitReports(2);
        assertTrue(service.reports.get(1).startsWith("{\"application\":\"next\""), service.reports.get(1));
        assertEquals(1, later.warnings().size());
        assertContains("report: dropped, so rebalance ", later.warnings().get(0));
    }
}
