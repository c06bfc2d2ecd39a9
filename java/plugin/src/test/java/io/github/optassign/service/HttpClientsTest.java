package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.optassign.config.PluginConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** When calls share an HTTP client, and when there is a new one. */
class HttpClientsTest {
    /** As of System.nanoTime, which may be negative. */
    private final AtomicLong now = new AtomicLong(-1);

    private final HttpClients clients = new HttpClients(HttpClients::newClient, now::get);

    private void advanceClock(long ms) {
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(ms));
    }

    @Test
    void oneThatIsUsedIsKept() throws ServiceFailure {
        HttpClient first = clients.get();
        for (int i = 0; i < 4; i++) {
            advanceClock(30_000);
            assertSame(first, clients.get());
        }
    }

    @Test
    void oneThatWasNotUsedForLongIsRenewed() throws ServiceFailure {
        HttpClient first = clients.get();
        advanceClock(30_001);
        HttpClient second = clients.get();
        assertNotSame(first, second);
        assertSame(second, clients.get());
    }

    /** The TLS set-up may be broken, or no thread be left: once that is over, the service is asked again. */
    @Test
    void failureIsNotForEver() throws ServiceFailure {
        AtomicInteger made = new AtomicInteger();
        HttpClients ailing = new HttpClients(
                () -> {
                    int time = made.incrementAndGet();
                    if (time == 1) {
                        throw new UncheckedIOException(new IOException("no trust store"));
                    }
                    if (time == 2) {
                        throw new OutOfMemoryError("unable to create native thread");
                    }
                    return HttpClients.newClient();
                },
                System::nanoTime);
        ServiceFailure failure = assertThrows(ServiceFailure.class, ailing::get);
        assertEquals(
                "no HTTP client: java.io.UncheckedIOException: java.io.IOException: no trust store",
                failure.getMessage());
        assertThrows(OutOfMemoryError.class, ailing::get);
        assertSame(ailing.get(), ailing.get());
        assertEquals(3, made.get());
    }

    /** A firewall lets a connection live for one exchange, then drops all that comes on it and tells neither side. */
    @Test
    void connectionDroppedInSilenceIsNotAskedAgainAfterMinutes() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread accepting = new Thread(() -> {
                while (true) {
                    try {
                        Socket socket = server.accept();
                        Thread serving = new Thread(() -> answerOnce(socket, over));
                        serving.setDaemon(true);
                        serving.start();
                    } catch (IOException e) {
                        return;
                    }
                }
            });
            accepting.setDaemon(true);
            accepting.start();
            PluginConfig config = PluginConfig.of(Map.of("optassign.url", "http://127.0.0.1:" + server.getLocalPort()));
            for (int call = 0; call < 3; call++) {
                long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
                assertEquals(
                        "{}",
                        new ServiceClient(config, clients)
                                .ask("r", new byte[] {'{', '}'}, -1, deadline)
                                .json());
                advanceClock(600_000);
            }
        } finally {
            over.countDown();
        }
    }

    private static void answerOnce(Socket socket, CountDownLatch over) {
        try (socket) {
            InputStream in = socket.getInputStream();
            StringBuilder request = new StringBuilder();
            while (request.indexOf("\r\n\r\n{}") < 0) {
                int next = in.read();
                if (next < 0) {
                    return;
                }
                request.append((char) next);
            }
            String answer = "HTTP/1.1 200 OK\r\nOptassign-Protocol: 1\r\nContent-Length: 2\r\n\r\n{}";
            OutputStream out = socket.getOutputStream();
            out.write(answer.getBytes(StandardCharsets.UTF_8));
            out.flush();
            over.await();
        } catch (IOException | InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
