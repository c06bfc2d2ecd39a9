package io.github.optassign.watch.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An HTTP server for {@code GET /metrics}. */
public final class MetricsServer implements AutoCloseable {
    /** The most requests that are answered at a time: Prometheus, a probe, and two that are stuck. */
    private static final int THREADS = 4;

    private final HttpServer server;
    private final ExecutorService executor = Executors.newFixedThreadPool(THREADS, work -> {
        Thread thread = new Thread(work, "optassign-metrics");
        thread.setDaemon(true);
        return thread;
    });
    private final Metrics metrics;

    public MetricsServer(InetSocketAddress address, Metrics metrics) throws IOException {
        this.metrics = metrics;
        server = HttpServer.create(address, 0);
        server.setExecutor(executor); // without one, a request that is half sent would hold up all others
        server.createContext("/", this::answer);
        server.start();
    }

    public InetSocketAddress address() {
        return server.getAddress();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            boolean isKnownPage = exchange.getRequestURI().getPath().equals("/metrics");
            byte[] body = (isKnownPage ? metrics.render() : "allowed: /metrics\n").getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(isKnownPage ? 200 : 404, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }

    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
    }
}
