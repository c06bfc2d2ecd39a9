package io.github.optassign;

import io.github.optassign.learn.Memories;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.streams.processor.assignment.ApplicationState;

/**
 * A benchmark of the longest time that {@code assign} takes with misbehaving servers: milliseconds beyond the time-out.
 * Arguments: calls per server, time-out in ms (default 20 500).
 */
final class WorstTimeBenchmark {
    private static final String HEAD = "HTTP/1.1 200 OK\r\nOptassign-Protocol: 1\r\n";

    private WorstTimeBenchmark() {}

    /** The behaviour of a server on a connection. */
    private interface Server {
        void serve(Socket socket, OutputStream out) throws IOException;
    }

    /** Runs the benchmark. */
    public static void main(String[] args) throws IOException {
        int calls = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        int timeoutMs = args.length > 1 ? Integer.parseInt(args[1]) : 500;
        Map<String, Server> servers = new LinkedHashMap<>();
        servers.put("takes the connection and reads nothing", (socket, out) -> pause(10_000));
        servers.put("reads and says nothing", (socket, out) -> readOn(socket));
        servers.put("a head of single bytes", (socket, out) -> trickle(out, HEAD + "X-Endless: "));
        servers.put("a body of single bytes", (socket, out) -> trickle(out, HEAD + "Content-Length: 100000\r\n\r\n"));
        servers.put("chunks of single bytes", (socket, out) -> {
            write(out, HEAD + "Transfer-Encoding: chunked\r\n\r\n");
            trickle(out, "1\r\n");
        });
        servers.put("a body without end, fast", (socket, out) -> {
            write(out, HEAD + "\r\n");
            flood(out);
        });
        servers.put("a head without end, fast", (socket, out) -> flood(out));
        servers.put("closes at once", (socket, out) -> socket.setSoLinger(true, 0));
        servers.put("closes in the middle of the answer", (socket, out) -> {
            readSome(socket);
            write(out, HEAD + "Content-Length: 1000\r\n\r\n{");
        });
        servers.put("is busy, and says come again at once", (socket, out) -> {
            readSome(socket);
            write(out, "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        servers.put("an answer just before the time-out", (socket, out) -> {
            readSome(socket);
            pause(timeoutMs - 20);
            write(out, HEAD + "Content-Length: 2\r\n\r\n{}");
        });
        ApplicationState state = AssignBenchmark.group(1_000, 100, 10).state();
        System.out.println("time-out " + timeoutMs + " ms, 1,000 tasks × 100 clients, " + calls + " calls each");
        System.out.println("| the server | median | worst | over the time-out |");
        System.out.println("|---|---|---|---|");
        measure("(none listens)", "http://127.0.0.1:1", state, calls, timeoutMs);
        for (Map.Entry<String, Server> server : servers.entrySet()) {
            try (ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                start(() -> accept(listening, server.getValue()));
                String url = "http://127.0.0.1:" + listening.getLocalPort();
                measure(server.getKey(), url, state, calls, timeoutMs);
            }
        }
        try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket one = new Socket();
                Socket two = new Socket()) {
            one.connect(full.getLocalSocketAddress());
            two.connect(full.getLocalSocketAddress());
            measure("takes no connection", "http://127.0.0.1:" + full.getLocalPort(), state, calls, timeoutMs);
        }
        System.exit(0); // abandoned calls may still be running
    }

    private static void measure(String name, String url, ApplicationState state, int calls, int timeoutMs) {
        double[] ms = new double[calls];
        for (int call = -1; call < calls; call++) { // the first call loads classes
            Memories.clearAll();
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            assignor.configure(Map.of(
                    "application.id",
                    "worst",
                    "optassign.url",
                    url,
                    "optassign.timeout.ms",
                    String.valueOf(timeoutMs)));
            long start = System.nanoTime();
            assignor.assign(state);
            ms[Math.max(0, call)] = (System.nanoTime() - start) / 1e6;
        }
        Arrays.sort(ms);
        double worst = ms[calls - 1];
        System.out.printf(
                Locale.ROOT,
                "| %s | %.0f | %.0f | %.0f |%n",
                name,
                ms[calls / 2],
                worst,
                Math.max(0, worst - timeoutMs));
    }

    private static void accept(ServerSocket listening, Server server) {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                start(() -> {
                    try (socket) {
                        server.serve(socket, socket.getOutputStream());
                    } catch (IOException e) {
                        // The plug-in has closed the connection.
                    }
                });
            } catch (IOException e) {
                return;
            }
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private static void pause(long ms) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(ms));
    }

    private static void write(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    private static void trickle(OutputStream out, String begin) throws IOException {
        write(out, begin);
        while (true) {
            write(out, "x");
            pause(10);
        }
    }

    private static void flood(OutputStream out) throws IOException {
        byte[] many = "x".repeat(64 * 1024).getBytes(StandardCharsets.US_ASCII);
        while (true) {
            out.write(many);
        }
    }

    private static void readOn(Socket socket) throws IOException {
        socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    }

    /**
     * Reads the head of the request and a part of its body, since closing with everything unread would break the
     * connection.
     */
    private static void readSome(Socket socket) throws IOException {
        socket.setSoTimeout(50);
        try {
            readOn(socket);
        } catch (SocketTimeoutException e) {
            socket.setSoTimeout(0);
        }
    }
}
