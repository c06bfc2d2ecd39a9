package io.github.optassign.testing;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.optassign.OptassignTaskAssignor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** A service for tests: a real HTTP server on loopback that answers as the test wants. */
public final class FakeService implements AutoCloseable {
    /** A valid answer for {@link TestGroup#ofThreeTasks}, but other than the fallback's: its tasks are swapped. */
    public static final String VALID = """
        {"format": 1, "assignor": "cp-sat", "clients": [
         {"process_id": "00000000-0000-0000-0000-000000000001", "active": ["0_1", "1_0"], "standby": [], "warmup": ["0_0"],
          "followup_rebalance_ms": 90000},
         {"process_id": "00000000-0000-0000-0000-000000000002", "active": ["0_0"], "standby": [], "warmup": [],
          "followup_rebalance_ms": null}], "plan": null, "x_new": [1, {"a": 2}],
         "report": {"goals": [{"stage": "plan"}], "warmup_progress": []}}""";

    /** What the service does with a request. */
    public interface Behaviour {
        /** Returns the JSON to answer with, or null if the exchange has been answered already. */
        String answer(HttpExchange exchange, String body) throws IOException;
    }

    static {
        System.setProperty("sun.net.httpserver.nodelay", "true"); // else each answer waits 40 ms for Nagle's algorithm
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    public final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
    public final List<Headers> headers = Collections.synchronizedList(new ArrayList<>());
    /** Bodies of reports of what was applied, and their headers; they are not among the others. */
    public final List<String> reports = Collections.synchronizedList(new ArrayList<>());

    public final List<Headers> reportHeaders = Collections.synchronizedList(new ArrayList<>());
    /** What a slow service waits for: it is zero when the test is over. */
    public final CountDownLatch closing = new CountDownLatch(1);

    public volatile Behaviour behaviour = (exchange, body) -> "{}";
    /** The same for reports. */
    public volatile Behaviour reporting = (exchange, body) -> "{\"recorded\": true, \"beside\": null}";

    public FakeService() throws IOException {
        this(0);
    }

    /** One on a port that is known before it is there. */
    public FakeService(int port) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            boolean isReport = exchange.getRequestURI().getPath().equals("/v1/applied");
            Headers copy = new Headers();
            exchange.getRequestHeaders().forEach((name, values) -> copy.put(name, new ArrayList<>(values)));
            copy.set("Test-Path", exchange.getRequestURI().getPath());
            (isReport ? reportHeaders : headers).add(copy);
            (isReport ? reports : bodies).add(body);
            exchange.getResponseHeaders().set("Optassign-Protocol", "1");
            exchange.getResponseHeaders().set("Optassign-Answered-At", "1780000000000");
            String answer = (isReport ? reporting : behaviour).answer(exchange, body);
            if (answer != null) {
                reply(exchange, 200, answer);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Answers that it cannot answer, which is no wrong answer. */
    public static String refuse(HttpExchange exchange, String body) throws IOException {
        reply(exchange, 503, "{\"error\": \"no luck\"}");
        return null;
    }

    public static void reply(HttpExchange exchange, int status, String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** What an assignor needs that asks here, and as much time as a busy machine may take. */
    public Map<String, Object> configs() {
        return new HashMap<>(
                Map.of("application.id", "orders", "optassign.url", url(), "optassign.timeout.ms", 10_000));
    }

    /** Plays one rebalance of an application that asks here, with a new assignor, as Kafka does. */
    public TaskAssignment rebalance(TestGroup group, Map<String, ?> more, AssignmentError outcome) {
        Map<String, Object> configs = configs();
        configs.putAll(more);
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        assignor.configure(configs);
        TaskAssignment assignment = assignor.assign(group.state());
        assignor.onAssignmentComputed(new GroupAssignment(Map.of()), new GroupSubscription(Map.of()), outcome);
        return assignment;
    }

    /** Waits until so many reports have come. */
    public void awaitReports(int count) {
        Awaiting.until(() -> reports.size() >= count, () -> reports.size() + " reports");
    }

    @Override
    public void close() {
        closing.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
