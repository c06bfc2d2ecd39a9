package io.github.optassign.testing;

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
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A service for tests: a real HTTP server on loopback that answers as the test wants. */
public class HttpService implements AutoCloseable {
    /** The reaction of the service to a request. */
    public interface Behaviour {
        /** Returns the JSON of the answer, or null if the exchange has been answered already or gets no answer. */
        String answer(HttpExchange exchange, String body) throws IOException, InterruptedException;
    }

    static {
        System.setProperty(
                "sun.net.httpserver.nodelay", "true"); // otherwise each answer waits 40 ms for Nagle's algorithm
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    public final List<String> bodies = Collections.synchronizedList(new ArrayList<>());
    public final List<Headers> headers = Collections.synchronizedList(new ArrayList<>());
    /** Bodies of reports, which are not in {@link #bodies}. */
    public final List<String> reports = Collections.synchronizedList(new ArrayList<>());

    public final List<Headers> reportHeaders = Collections.synchronizedList(new ArrayList<>());
    /** A latch for slow services, which opens at the end of the test. */
    public final CountDownLatch closing = new CountDownLatch(1);

    public volatile Behaviour behaviour = (exchange, body) -> "{}";
    /** The reaction to reports. */
    public volatile Behaviour reporting = (exchange, body) -> "{\"recorded\": true, \"not_applied\": null}";

    public HttpService() throws IOException {
        this(0);
    }

    /** Creates a service on a given port. */
    public HttpService(int port) throws IOException {
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
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Answers with status 503, which does not count as a wrong answer.
     *
     * @return null
     */
    public static String refuse(HttpExchange exchange, String body) throws IOException {
        return reply(exchange, 503, "{\"error\": \"no luck\"}");
    }

    /**
     * Sends an answer.
     *
     * @return null, since the exchange is answered
     */
    public static String reply(HttpExchange exchange, int status, String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        return null;
    }

    public final String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Waits until this number of reports has come. */
    public final void awaitReports(int count) {
        Awaiting.until(() -> reports.size() >= count, () -> reports.size() + " reports");
    }

    @Override
    public final void close() {
        closing.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
