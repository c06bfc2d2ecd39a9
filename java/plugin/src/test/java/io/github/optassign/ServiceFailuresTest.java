package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.Cases;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * After any failure of the service, Kafka gets an assignment that it accepts, with every task once, and one line names
 * the reason.
 */
class ServiceFailuresTest extends AgainstAService {
    private OptassignTaskAssignor assignor(Map<String, ?> more) {
        Map<String, Object> configs = service.configs();
        configs.putAll(more);
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        assignor.configure(configs);
        return assignor;
    }

    /** Asserts that the fallback answers, which moves nothing here, and that the answer and its log line are valid. */
    private void assertFallsBack(Map<String, ?> configs, String why) {
        StreamsTestGroup group = group();
        TaskAssignment assignment = assignor(configs).assign(group.state());
        assertEquals(AssignmentError.NONE, TaskAssignmentUtils.validateTaskAssignment(group.state(), assignment));
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
        assertEquals(1, log.warnings().size(), log.all().toString());
        String line = log.warnings().get(0);
        assertContains(why, line);
        assertContains("application=orders fallback: ", line);
        // A group at rest asks again, so that a repaired service answers; an invalid URL names no service.
        String followup = line.contains("fallback: configuration") ? "none" : "600000";
        assertContains("answered by rules R1 to R6: active_moved=0 warmups=0 followup_ms=" + followup, line);
        assertFalse(line.contains("\n"), line);
    }

    @Test
    void validAnswerIsApplied() {
        TaskAssignment assignment = assignor(Map.of()).assign(group().state());
        assertEquals(Map.of("0_0", 2, "0_1", 1, "1_0", 1), Assignments.owners(assignment));
        assertEquals(List.of(), log.warnings());
        assertEquals(1, log.rebalances().size());
        String line = log.rebalances().get(0);
        assertContains("tasks=3 clients=2 answered_by=cp-sat active_moved=3 warmups=1 followup_ms=90000", line);
    }

    /** The service names the reason for a greedy answer, for example while it starts. */
    @Test
    void theServicesReasonIsLogged() {
        String why = "the service is starting: no worker has loaded cp-sat yet";
        service.behaviour = (exchange, body) -> VALID.replace("\"cp-sat\"", "\"greedy\"")
                .replace(
                        "\"warmup_progress\"",
                        "\"termination\": {\"reason\": \"limit\", \"x_new\": [], \"detail\": \"" + why
                                + "\"}, \"warmup_progress\"");
        assignor(Map.of()).assign(group().state());
        assertEquals(List.of(), log.warnings());
        String line = log.rebalances().get(0);
        assertContains("answered_by=greedy active_moved=3", line);
        assertTrue(line.endsWith(" why=" + why), line);
    }

    @Test
    void aFallbackWithoutWeightsIsLogged() {
        service.behaviour = (exchange, body) -> "";
        assignor(Map.of("optassign.weights", "0:2.5")).assign(group().state());
        String line = log.warnings().get(0);
        assertContains("answered by rules R1 to R6, by numbers of tasks, not by their weights: active_m", line);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        cut          | "assignor": "cp-sat", "clients": [ | ``                  | found an answer that is no JSON
        two          | "warmup_progress": []}}   | "warmup_progress": []}} {}   | found text after the answer
        format       | "format": 1               | "format": 2                  | format: found 2; allowed: 1
        no format    | "format": 1,              | ``                           | format: found null; allowed: 1
        no clients   | "clients"                 | "klients"                    | clients: found nothing
        task         | "0_1"                     | 7                            | clients[0].active: found VALUE_NUMBER_INT
        text delay   | 90000                     | "soon"                       | clients[0].followup_rebalance_ms: found
        80 bits      | 90000                     | 99999999999999999999         | allowed: an integer of 64
        negative     | 90000                     | -1                           | found a follow-up in -1 ms
        left out     | ["0_1", "1_0"]            | ["0_1"]                      | found task 1_0 active nowhere
        active twice | ["0_0"], "standby"        | ["0_0", "1_0"], "standby"    | found task 1_0 active on
        twice at one | "0_1", "1_0"              | "0_1", "1_0", "1_0"          | found task 1_0 twice on
        two roles    | "warmup": ["0_0"]         | "warmup": ["0_1"]            | found task 0_1 twice on
        unlogged     | ["0_0"], "standby": []    | ["0_0"], "standby": ["1_0"]  | found a standby of task 1_0; allowed: none
        no task      | "warmup": ["0_0"]         | "warmup": ["0_9"]            | found task 0_9;
        no client    | 000000000002              | 000000000003                 | 000000000003; allowed: clients of the snapshot
        client twice | 000000000002              | 000000000001                 | a second time""")
    void changedAnswersDoNotReachKafka(String name, String from, String to, String why) {
        String changed = VALID.replace(from, to);
        assertFalse(changed.equals(VALID), "the case changes nothing");
        assertRefused(changed, why);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        <html>busy</html> | found an answer that is no JSON
        ``                | the answer: found nothing
        []                | the answer: found START_ARRAY; allowed: an object""")
    void otherTextsDoNotReachKafka(String text, String why) {
        assertRefused(text, why);
    }

    @Test
    void anAnswerWithoutAClientDoesNotReachKafka() {
        String answer = """
            {"format": 1, "assignor": "cp-sat", "clients": [
             {"process_id": "00000000-0000-0000-0000-000000000001", "active": ["0_0", "0_1", "1_0"]}]}""";
        assertRefused(answer, "found no client 00000000-0000-0000-0000-000000000002");
    }

    private void assertRefused(String answer, String why) {
        service.behaviour = (exchange, body) -> answer;
        TaskAssignment assignment = assignor(Map.of()).assign(group().state());
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
        assertEquals(1, log.warnings().size(), log.all().toString());
        assertWarned(why);
    }

    @ParameterizedTest
    @ValueSource(ints = {204, 302, 400, 401, 413, 500, 503})
    void statuses(int status) {
        service.behaviour = (exchange, body) -> {
            exchange.getResponseHeaders().set("Location", service.url() + "/elsewhere");
            if (status == 204) {
                exchange.sendResponseHeaders(204, -1);
            } else {
                FakeService.reply(exchange, status, "{\"error\": \"no\nluck\"}");
            }
            return null;
        };
        String shown = status == 401 ? "the token is missing or wrong" : "{\"error\": \"no luck\"}";
        assertFallsBack(Map.of(), "status " + status + (status == 204 ? "" : " " + shown));
        assertEquals(1, service.bodies.size(), "neither redirected nor asked again");
    }

    @Test
    void otherProtocol() {
        service.behaviour = (exchange, body) -> {
            exchange.getResponseHeaders().set("Optassign-Protocol", "2");
            return VALID;
        };
        assertFallsBack(Map.of(), "found protocol 2 in the answer; allowed: 1");
    }

    @Test
    void notUtf8() {
        service.behaviour = (exchange, body) -> {
            exchange.sendResponseHeaders(200, 2);
            exchange.getResponseBody().write(new byte[] {(byte) 0xff, (byte) 0xfe});
            return null;
        };
        assertFallsBack(Map.of(), "found an answer that is not UTF-8");
    }

    @Test
    void serviceIsDown() {
        service.close();
        assertFallsBack(Map.of(), service.url() + "/v1/assign no connection: ");
    }

    /** At most six rebalances an hour for any probing interval, and none if the application turns them off. */
    @Test
    void atRestTheServiceIsAskedAgainAsConfigured() {
        service.close();
        StreamsTestGroup group = group();
        group.probingMs = 60_000;
        for (String[] each : new String[][] {{"", "600000"}, {"0", "none"}, {"900000", "900000"}}) {
            Map<String, String> more = each[0].isEmpty() ? Map.of() : Map.of("optassign.idle.followup.ms", each[0]);
            assignor(more).assign(group.state());
            String line = log.warnings().get(log.warnings().size() - 1);
            assertContains("followup_ms=" + each[1], line);
        }
    }

    @Test
    void hostDoesNotExist() {
        assertFallsBack(Map.of("optassign.url", "http://no-such-host.invalid:1"), "host name not resolved");
    }

    @Test
    void slowService() {
        service.behaviour = (exchange, body) -> {
            await();
            return VALID;
        };
        assertFallsBack(Map.of("optassign.timeout.ms", "200"), "no answer within 200 ms");
    }

    @Test
    void bodyThatNeverEnds() {
        service.behaviour = (exchange, body) -> {
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write('{');
            exchange.getResponseBody().flush();
            await();
            return null;
        };
        assertFallsBack(Map.of("optassign.timeout.ms", "300"), "no answer within 300 ms");
    }

    @Test
    void bodyOfAnySize() {
        service.behaviour = (exchange, body) -> {
            exchange.sendResponseHeaders(200, 0);
            byte[] chunk = new byte[1 << 20];
            for (int i = 0; i < 70; i++) {
                exchange.getResponseBody().write(chunk);
            }
            return null;
        };
        assertFallsBack(Map.of(), "found more than ");
    }

    private void await() {
        try {
            service.closing.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The service closes the connection in the middle of both answers. */
    @Test
    void truncatedAnswer() {
        service.behaviour = (exchange, body) -> {
            exchange.sendResponseHeaders(200, VALID.length() + 100);
            OutputStream out = exchange.getResponseBody();
            out.write(VALID.getBytes(StandardCharsets.UTF_8));
            out.flush();
            throw new IOException("cut");
        };
        assertFallsBack(Map.of(), "connection broke twice: ");
        assertEquals(2, service.bodies.size());
    }

    /** A kept connection that the service has closed is no reason to fall back. */
    @Test
    void brokenConnectionIsTriedOnceMore() throws IOException {
        try (ServerSocket closesAtOnce = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread server = new Thread(() -> {
                for (int call = 0; call < 2; call++) {
                    try (var socket = closesAtOnce.accept()) {
                        socket.getInputStream().read();
                        if (call == 1) {
                            String head = "HTTP/1.1 200 OK\r\nOptassign-Protocol: 1\r\nContent-Length: "
                                    + VALID.length() + "\r\n\r\n";
                            socket.getOutputStream().write((head + VALID).getBytes(StandardCharsets.UTF_8));
                            socket.shutdownOutput();
                            socket.getInputStream().readAllBytes();
                        }
                    } catch (IOException e) {
                        return;
                    }
                }
            });
            server.setDaemon(true);
            server.start();
            String url = "http://127.0.0.1:" + closesAtOnce.getLocalPort();
            TaskAssignment assignment = assignor(Map.of("optassign.url", url)).assign(group().state());
            assertEquals(
                    Map.of("0_0", 2, "0_1", 1, "1_0", 1),
                    Assignments.owners(assignment),
                    log.all().toString());
        }
    }

    @Test
    void garbageInsteadOfHttp() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread server = new Thread(() -> {
                while (true) {
                    try (var client = socket.accept()) {
                        client.getInputStream().read();
                        client.getOutputStream().write("SSH-2.0-OpenSSH\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    } catch (IOException e) {
                        return;
                    }
                }
            });
            server.setDaemon(true);
            server.start();
            assertFallsBack(Map.of("optassign.url", "http://127.0.0.1:" + socket.getLocalPort()), "connection broke");
        }
    }

    /**
     * Random damage to the valid answer never causes an exception, a task without an active, or an assignment that
     * Kafka refuses.
     */
    @Test
    void nothingIsEverThrown() {
        int applied = 0;
        int answers = Cases.count(200);
        for (int seed = 0; seed < answers; seed++) {
            Random random = new Random(seed);
            StringBuilder text = new StringBuilder(VALID);
            for (int i = 0; i <= random.nextInt(3); i++) {
                int at = random.nextInt(text.length());
                switch (random.nextInt(3)) {
                    case 0 -> text.setCharAt(at, (char) (32 + random.nextInt(95)));
                    case 1 -> text.deleteCharAt(at);
                    default -> text.insert(at, text.charAt(random.nextInt(text.length())));
                }
            }
            service.behaviour = (exchange, body) -> text.toString();
            Memories.clearAll();
            StreamsTestGroup group = group();
            int before = log.warnings().size();
            TaskAssignment assignment = assignor(Map.of()).assign(group.state());
            assertEquals(AssignmentError.NONE, TaskAssignmentUtils.validateTaskAssignment(group.state(), assignment));
            assertEquals(3, Assignments.owners(assignment).size(), "seed " + seed);
            applied += log.warnings().size() == before ? 1 : 0;
        }
        assertTrue(applied > answers * 0.05 && applied < answers * 0.95, "the damage is all or nothing: " + applied);
    }
}
