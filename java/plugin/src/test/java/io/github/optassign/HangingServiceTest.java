package io.github.optassign;

import static io.github.optassign.testing.SixTasks.RIGHT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.HttpService;
import io.github.optassign.testing.SixTasks;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A hanging service costs its time-out once per pause, not in each rebalance. */
class HangingServiceTest extends AgainstAService {
    private static final Pattern PAUSED = Pattern.compile(
            "/v1/assign not asked, but again in (\\d+) s: (\\d+) failures? in a row, the last: no answer within 200 ms");
    private static final Map<String, String> SHORT = Map.of("optassign.timeout.ms", "200");

    private final HttpService.Behaviour hang = (exchange, body) -> {
        service.closing.await();
        return RIGHT;
    };

    private String rebalanceWith(Map<String, ?> configs) {
        int before = log.warnings().size();
        rebalance(SixTasks.group(), configs, AssignmentError.NONE);
        List<String> warnings = log.warnings();
        return warnings.size() == before ? "" : warnings.get(warnings.size() - 1);
    }

    @Test
    void pausesGrowUpToABoundAndARightAnswerEndsThem() {
        service.behaviour = hang;
        long[] pauses = {5, 10, 20, 40, 80, 160, 320, 600, 600};
        for (int i = 0; i < pauses.length; i++) {
            String line = rebalanceWith(SHORT);
            assertContains("/v1/assign no answer within 200 ms, after ", line);
            assertEquals(i + 1, service.bodies.size());
            line = rebalanceWith(SHORT);
            Matcher paused = PAUSED.matcher(line);
            assertTrue(paused.find(), line);
            long seconds = Long.parseLong(paused.group(1));
            assertTrue(seconds > pauses[i] - 4 && seconds <= pauses[i], line);
            assertEquals(i + 1, Integer.parseInt(paused.group(2)), line);
            assertEquals(i + 1, service.bodies.size(), "not asked within the pause");
            Memories.advancePause("orders", pauses[i] * 1_000);
        }
        service.behaviour = (exchange, body) -> RIGHT;
        assertEquals("", rebalanceWith(Map.of()));
        assertEquals("", rebalanceWith(Map.of()));
        service.behaviour = hang;
        rebalanceWith(SHORT);
        String line = rebalanceWith(SHORT);
        assertContains(" s: 1 failure in a row, the last: no answer", line);
    }

    /** A rebalance within the pause would not ask the service, so it would have no use. */
    @Test
    void theFollowUpAtRestWaitsForTheEndOfThePause() {
        service.behaviour = (exchange, body) -> "no answer";
        for (int i = 0; i < 9; i++) {
            rebalance(group(), Map.of(), AssignmentError.NONE);
            Memories.advancePause("orders", 3_600_000);
        }
        rebalance(group(), Map.of(), AssignmentError.NONE);
        assertEquals(10, service.bodies.size());
        String line = log.warnings().get(log.warnings().size() - 1);
        long followupMs = Long.parseLong(line.replaceFirst(".* followup_ms=(\\d+).*", "$1"));
        assertTrue(followupMs > 2_500_000 && followupMs <= 5_000 << 9, line);
    }

    @TestFactory
    Stream<DynamicTest> otherSlowServices() {
        HttpService.Behaviour trickles = (exchange, body) -> {
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write('{');
            exchange.getResponseBody().flush();
            service.closing.await();
            return null;
        };
        HttpService.Behaviour asksForPatience = (exchange, body) -> {
            exchange.getResponseHeaders().set("Retry-After", "1");
            return FakeService.refuse(exchange, body);
        };
        return Stream.of(
                DynamicTest.dynamicTest("trickles", () -> assertPauses(trickles, "300", "no answer within 300 ms")),
                DynamicTest.dynamicTest("is full", () -> assertPauses(asksForPatience, "2500", "status 503")));
    }

    private void assertPauses(HttpService.Behaviour behaviour, String timeoutMs, String why) {
        Memories.clearAll();
        service.behaviour = behaviour;
        rebalanceWith(Map.of("optassign.timeout.ms", timeoutMs));
        int asked = service.bodies.size();
        String line = rebalanceWith(Map.of("optassign.timeout.ms", timeoutMs));
        assertContains("1 failure in a row, the last: " + why, line);
        assertEquals(asked, service.bodies.size());
    }

    /** The kernel accepts the connection, and no program reads from it. */
    @Test
    void aPortThatIsNeverReadFrom() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Map<String, String> configs =
                    Map.of("optassign.url", "http://127.0.0.1:" + silent.getLocalPort(), "optassign.timeout.ms", "200");
            String line = rebalanceWith(configs);
            assertContains("no answer within 200 ms", line);
            line = rebalanceWith(configs);
            assertContains(" s: 1 failure in a row, the last: no answer", line);
        }
    }

    @Test
    void aRefusedConnectionIsTriedEachTime() {
        service.close();
        for (int i = 0; i < 3; i++) {
            String line = rebalanceWith(Map.of());
            assertContains("no connection: ", line);
        }
    }
}
