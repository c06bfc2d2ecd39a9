package io.github.optassign;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
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

/** The other end of the line: a real HTTP server on loopback that answers as a test wants. */
final class FakeService implements AutoCloseable {
    /** Answers one request. */
    interface Behaviour {
        /** The JSON to answer with, or null if the exchange is dealt with. */
        String answer(HttpExchange exchange, String body) throws IOException;
    }

    static {
        System.setProperty("sun.net.httpserver.nodelay", "true"); // else each answer waits 40 ms for Nagle's algorithm
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
    final List<Headers> headers = Collections.synchronizedList(new ArrayList<>());
    /** Keeps a slow service waiting until the test is over. */
    final CountDownLatch closing = new CountDownLatch(1);

    volatile Behaviour behaviour = (exchange, body) -> "{}";

    FakeService() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            bodies.add(body);
            Headers copy = new Headers();
            exchange.getRequestHeaders().forEach((name, values) -> copy.put(name, new ArrayList<>(values)));
            copy.set("Test-Path", exchange.getRequestURI().getPath());
            headers.add(copy);
            exchange.getResponseHeaders().set("Optassign-Protocol", "1");
            exchange.getResponseHeaders().set("Optassign-Answered-At", "1780000000000");
            String answer = behaviour.answer(exchange, body);
            if (answer != null) {
                reply(exchange, 200, answer);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    static void reply(HttpExchange exchange, int status, String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** One rebalance of an application that asks here, with an assignor of its own as Kafka has it. */
    TaskAssignment rebalance(TestGroup group, Map<String, ?> more, AssignmentError outcome) {
        Map<String, Object> configs = new HashMap<>(Map.of("application.id", "orders", "optassign.url", url()));
        configs.putAll(more);
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        assignor.configure(configs);
        TaskAssignment assignment = assignor.assign(group.state());
        assignor.onAssignmentComputed(new GroupAssignment(Map.of()), new GroupSubscription(Map.of()), outcome);
        return assignment;
    }

    @Override
    public void close() {
        closing.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
