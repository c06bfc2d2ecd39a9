package io.github.optassign.broker;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.optassign.endpoint.TokenSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A service for tests: a real HTTP server on loopback that answers as the test wants. */
final class FakeService implements AutoCloseable {
    /** What the service does with a request. */
    interface Behaviour {
        /** Returns the JSON to answer with; null: the exchange has been answered already, or will never be. */
        String answer(HttpExchange exchange) throws IOException, InterruptedException;
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
    /** What a service waits for that never answers: it is zero when the test is over. */
    final CountDownLatch closing = new CountDownLatch(1);

    volatile Behaviour behaviour = exchange -> "{}";

    FakeService() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            bodies.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.getResponseHeaders().set("Optassign-Protocol", "1");
            String answer = behaviour.answer(exchange);
            if (answer != null) {
                reply(exchange, 200, answer);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static String reply(HttpExchange exchange, int status, String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        return null;
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    BrokerEndpoint endpoint(int timeoutMs) {
        return new BrokerEndpoint(URI.create(url() + "/v1/assign"), timeoutMs, TokenSource.of(null, null));
    }

    @Override
    public void close() {
        closing.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
