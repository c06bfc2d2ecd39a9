package io.github.optassign.reports;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import java.io.IOException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting reports are bounded, the oldest is dropped first, and the newest token is used. */
class ReporterTest {
    private final String own = "reporter-" + UUID.randomUUID();
    private final LogLines log = new LogLines(Reporter.class, "application=" + own);
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);
    private FakeService service;

    /** Starts a service that holds the first report and then refuses it. */
    @BeforeEach
    void open() throws IOException {
        service = new FakeService();
        service.reporting = (exchange, body) -> {
            if (service.reports.size() > 1) {
                return "{}";
            }
            asked.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            FakeService.reply(exchange, 503, "{}");
            return null;
        };
    }

    @AfterEach
    void close() {
        released.countDown();
        service.close();
        log.close();
    }

    private PluginConfig config(String token) {
        return PluginConfig.of(
                Map.of("application.id", "orders", "optassign.url", service.url(), "optassign.token", token));
    }

    private AppliedReport report(int number, int bytes) {
        return new AppliedReport(
                own,
                Mode.ACTIVE,
                "r-" + number,
                number,
                System.nanoTime(),
                -1,
                "why \"it\"",
                "{}",
                ("{\"x\":\"" + "x".repeat(bytes) + "\"}").getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    private String rebalance(int call) {
        return service.reportHeaders.get(call).getFirst("Optassign-Rebalance");
    }

    @Test
    void theNumberOfWaitingReportsIsBounded() throws InterruptedException {
        Reporter reporter = new Reporter(1, Reporter.REPORTS_REST_MS);
        reporter.submit(report(0, 0), config("old"));
        asked.await();
        for (int i = 1; i <= Reporter.WAITING_REPORTS + 2; i++) {
            reporter.submit(report(i, 0), config("new"));
        }
        assertEquals(3, log.warnings().size(), "the oldest three are gone");
        assertTrue(
                log.warnings().get(0).contains("dropped, so rebalance r-0"),
                log.warnings().get(0));
        released.countDown();
        service.awaitReports(1 + Reporter.WAITING_REPORTS);
        assertEquals("r-3", rebalance(1));
        assertEquals("r-" + (Reporter.WAITING_REPORTS + 2), rebalance(Reporter.WAITING_REPORTS));
        assertEquals("Bearer old", service.reportHeaders.get(0).getFirst("Authorization"));
        assertEquals("Bearer new", service.reportHeaders.get(1).getFirst("Authorization"));
        assertTrue(service.reports
                .get(1)
                .startsWith("{\"application\":\"" + own + "\",\"why\":\"why \\\"it\\\"\",\"applied\":{}"));
    }

    /** A closed application has no rebalances, and no thread may keep its class loader. */
    @Test
    void theThreadEndsWithoutNewReportsAndTheNextReportSendsTheOthers() {
        Reporter reporter = new Reporter(1, 0);
        released.countDown();
        reporter.submit(report(0, 0), config("t"));
        Awaiting.until(() -> !reporter.isAtWork(), () -> "still at work");
        assertEquals(1, service.reports.size());
        reporter.submit(report(1, 0), config("t"));
        service.awaitReports(3);
        assertEquals("r-0", rebalance(1));
        assertEquals("r-1", rebalance(2));
    }

    @Test
    void theSizeOfWaitingReportsIsBounded() throws InterruptedException {
        Reporter reporter = new Reporter(1, Reporter.REPORTS_REST_MS);
        reporter.submit(report(0, 0), config("t"));
        asked.await();
        int half = Reporter.WAITING_BYTES / 2;
        for (int i = 1; i <= 3; i++) {
            reporter.submit(report(i, half - 100), config("t"));
        }
        reporter.submit(report(4, 2 * half), config("t"));
        assertEquals(5, log.warnings().size(), log.all().toString());
        released.countDown();
        reporter.submit(report(5, 0), config("t"));
        service.awaitReports(2);
        assertEquals("r-5", rebalance(1));
        Awaiting.until(() -> service.reports.size() == 2, () -> service.reports.size() + " reports");
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 500, 503})
    void aServiceThatIsBusyGetsTheReportAgain(int status) {
        service.reporting = (exchange, body) -> service.reports.size() < 3
                ? FakeService.reply(exchange, status, "{\"error\": \"the service is starting\"}")
                : "{}";
        new Reporter(1, Reporter.REPORTS_REST_MS).submit(report(0, 0), config("t"));
        service.awaitReports(3);
        Awaiting.until(() -> !log.infos().isEmpty(), () -> "no line");
        String reason = status == 401 ? "the token is missing or wrong" : "{\"error\": \"the service is starting";
        String line = log.warnings().get(0);
        assertTrue(line.contains("/v1/applied status " + status + " " + reason), line);
    }

    /** A proxy answers 404 while the service is away. */
    @Test
    void aPageThatAProxyDoesNotFindGetsTheReportAgain() {
        service.reporting = (exchange, body) -> {
            if (service.reports.size() > 2) {
                return "{}";
            }
            exchange.getResponseHeaders().remove("Optassign-Protocol");
            return FakeService.reply(exchange, 404, "no backend");
        };
        new Reporter(1, Reporter.REPORTS_REST_MS).submit(report(0, 0), config("t"));
        service.awaitReports(3);
        assertEquals(
                0,
                log.warnings().stream().filter(line -> line.contains("dropped")).count());
    }

    @Test
    void applicationsOfOneJvmDoNotWaitForEachOther() throws InterruptedException {
        Reporter.send(report(0, 0), config("old"));
        asked.await();
        AppliedReport other = new AppliedReport(
                own + "-other", Mode.ACTIVE, "r-other", 1, System.nanoTime(), -1, "why", "{}", new byte[] {'{', '}'});
        Reporter.send(other, config("new"));
        service.awaitReports(2);
        assertEquals("Bearer old", service.reportHeaders.get(0).getFirst("Authorization"));
        assertEquals("Bearer new", service.reportHeaders.get(1).getFirst("Authorization"));
    }
}
