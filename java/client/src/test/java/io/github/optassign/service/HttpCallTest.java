package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.HttpService;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Limits on responses, and the end of abandoned calls. */
class HttpCallTest {
    /** An endless body does not fill the heap, which is small here (pom.xml). */
    @Test
    void bodyThatDoesNotFitIntoTheHeap() {
        InputStream endless = new InputStream() {
            @Override
            public int read() {
                return 0;
            }

            @Override
            public int read(byte[] into, int from, int most) {
                return most;
            }
        };
        FutureTask<byte[]> reading = new FutureTask<>(
                () -> HttpCall.readAll(endless, Integer.MAX_VALUE, System.nanoTime() + TimeUnit.HOURS.toNanos(1)));
        reading.run();
        ExecutionException e = assertThrows(ExecutionException.class, reading::get);
        assertTrue(e.getCause() instanceof OutOfMemoryError || e.getCause() instanceof HttpCall.TooLong, e.toString());
    }

    /** Returns the threads of calls that have not ended, with their stacks. */
    private static List<String> listCalls() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(thread -> thread.getKey().getName().startsWith("optassign-http"))
                .map(thread -> thread.getKey().getName() + " " + Arrays.toString(thread.getValue()))
                .toList();
    }

    private static void callInVain(String url) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
        Exception e = assertThrows(
                Exception.class,
                () -> HttpCall.post(URI.create(url), Map.of(), List.of(new byte[1]), 1_000_000, deadline));
        // The time-out of a read or of the whole call may end it first.
        assertTrue(e instanceof TimeoutException || e instanceof SocketTimeoutException, e.toString());
    }

    /** Sixty abandoned calls to a hanging service end, with their connections and threads. */
    @Test
    void abandonedCallsEnd() throws IOException {
        try (HttpService service = new HttpService()) {
            service.behaviour = (exchange, body) -> {
                service.closing.await();
                return null;
            };
            for (int i = 0; i < 60; i++) {
                callInVain(service.url());
            }
            Awaiting.until(() -> listCalls().isEmpty(), () -> listCalls().toString());
            assertFalse(service.closing.getCount() == 0, "the service still hangs");
        }
    }

    /** An endless head of a response comes byte by byte, so that no time-out of a single read ends it. */
    @Test
    void callsAtATricklingServiceEnd() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread accepting = new Thread(() -> {
                while (!server.isClosed()) {
                    try {
                        Socket socket = server.accept();
                        Thread trickling = new Thread(() -> trickle(socket));
                        trickling.setDaemon(true);
                        trickling.start();
                    } catch (IOException e) {
                        return;
                    }
                }
            });
            accepting.setDaemon(true);
            accepting.start();
            for (int i = 0; i < 3; i++) {
                callInVain("http://127.0.0.1:" + server.getLocalPort());
            }
            Awaiting.until(() -> listCalls().isEmpty(), () -> listCalls().toString());
        }
    }

    private static void trickle(Socket socket) {
        try (socket) {
            OutputStream out = socket.getOutputStream();
            out.write("HTTP/1.1 200 OK\r\nX-Endless: ".getBytes(StandardCharsets.US_ASCII));
            while (true) {
                out.write('x');
                out.flush();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
        } catch (IOException e) {
            // The client has closed the connection, as the test expects.
        }
    }
}
