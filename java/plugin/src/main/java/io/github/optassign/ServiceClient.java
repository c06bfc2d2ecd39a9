package io.github.optassign;

import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;

/**
 * Asks the service once per rebalance (docs/protocol.md, version 1).
 *
 * <p>All calls of a JVM share connections ({@link HttpClients}).
 */
final class ServiceClient {
    static final String PROTOCOL = "1";
    /** 100,000 tasks with plan and report take about 20 MB. */
    private static final int GREATEST_ANSWER = 64 * 1024 * 1024;
    /** The year 9987: what is built on an answer is dated later, and the service ends with the year 9999. */
    static final long LATEST_ANSWERED_AT = 253_000_000_000_000L;

    private final PluginConfig config;
    private final HttpClients clients;

    ServiceClient(PluginConfig config) {
        this(config, HttpClients.SHARED);
    }

    ServiceClient(PluginConfig config, HttpClients clients) {
        this.config = config;
        this.clients = clients;
    }

    /**
     * What the service said.
     *
     * @param json the TaskAssignment, not yet read
     * @param answeredAt the service's clock, milliseconds since 1970
     */
    record Reply(String json, long answeredAt) {}

    /**
     * Posts a snapshot and waits for the answer.
     *
     * @param snapshot the ApplicationState as JSON
     * @param rememberedAt when the remembered answer in it was decided, milliseconds since 1970; -1: there is none
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if there is no answer of status 200 and protocol 1 in time
     */
    Reply ask(byte[] snapshot, long rememberedAt, long deadline) throws ServiceFailure {
        long start = System.nanoTime();
        try {
            return send(snapshot, rememberedAt, deadline);
        } catch (BrokenConnection e) {
            // A kept connection may have been closed by the other side; asking again is harmless.
            clients.renew();
            if (System.nanoTime() - start > (deadline - start) / 2) {
                throw new ServiceFailure("connection broke: " + e.getMessage());
            }
        }
        try {
            return send(snapshot, rememberedAt, deadline);
        } catch (BrokenConnection e) {
            throw new ServiceFailure("connection broke twice: " + e.getMessage());
        }
    }

    private Reply send(byte[] snapshot, long rememberedAt, long deadline) throws ServiceFailure, BrokenConnection {
        HttpClient http = clients.get();
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (leftMs <= 0) {
            throw tooLate();
        }
        CompletableFuture<HttpResponse<byte[]>> call =
                http.sendAsync(request(snapshot, rememberedAt, leftMs), head -> new LimitedBody(GREATEST_ANSWER));
        try {
            // The request's own time-out ends with the head of the response; this one covers the body too.
            return reply(call.get(leftMs, TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            call.cancel(true);
            throw tooLate();
        } catch (InterruptedException e) {
            call.cancel(true);
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for the service");
        } catch (ExecutionException e) {
            throw cause(e.getCause());
        }
    }

    private HttpRequest request(byte[] snapshot, long rememberedAt, long leftMs) {
        HttpRequest.Builder request = HttpRequest.newBuilder(config.assignUri())
                .timeout(Duration.ofMillis(leftMs))
                .header("Content-Type", "application/json")
                .header("Optassign-Protocol", PROTOCOL)
                .header("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(leftMs)))
                .header("Optassign-Mode", config.mode().name().toLowerCase(Locale.ROOT))
                .header("Optassign-Plugin", PluginVersion.VERSION)
                .POST(HttpRequest.BodyPublishers.ofByteArray(snapshot));
        if (rememberedAt >= 0) {
            request.header("Optassign-Remembered-At", Long.toString(rememberedAt));
        }
        if (config.token() != null) {
            request.header("Authorization", "Bearer " + config.token().value());
        }
        return request.build();
    }

    /** What is left to the service: a tenth, between 30 and 200 ms, is for the way back, reading and checking. */
    static long serviceDeadlineMs(long leftMs) {
        return Math.max(1, leftMs - Math.max(30, Math.min(leftMs / 10, 200)));
    }

    private static Reply reply(HttpResponse<byte[]> response) throws ServiceFailure {
        if (response.statusCode() != 200) {
            throw new ServiceFailure("status " + response.statusCode() + " " + firstOf(response.body()));
        }
        String protocol = response.headers().firstValue("Optassign-Protocol").orElse("none");
        if (!protocol.strip().equals(PROTOCOL)) {
            throw new ServiceFailure("found protocol " + protocol + " in the answer; allowed: " + PROTOCOL);
        }
        String json;
        try {
            json = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(response.body()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new ServiceFailure("found an answer that is not UTF-8");
        }
        return new Reply(json, answeredAt(response));
    }

    /** Our own clock's where the service says nothing, or nothing that it would take back. */
    private static long answeredAt(HttpResponse<byte[]> response) {
        try {
            long at =
                    response.headers().firstValueAsLong("Optassign-Answered-At").orElse(-1);
            return at >= 0 && at <= LATEST_ANSWERED_AT ? at : System.currentTimeMillis();
        } catch (NumberFormatException e) {
            return System.currentTimeMillis();
        }
    }

    private static String firstOf(byte[] body) {
        return new String(body, 0, Math.min(body.length, 300), StandardCharsets.UTF_8);
    }

    private ServiceFailure tooLate() {
        return new ServiceFailure("no answer within " + config.timeoutMs() + " ms");
    }

    private ServiceFailure cause(Throwable cause) throws BrokenConnection {
        if (cause instanceof HttpTimeoutException) {
            return tooLate();
        }
        if (cause instanceof ConnectException) {
            boolean unresolved = cause.getCause() instanceof UnresolvedAddressException;
            return new ServiceFailure(unresolved ? "host name not resolved" : "no connection: " + text(cause));
        }
        if (cause instanceof SSLException) {
            return new ServiceFailure("TLS: " + text(cause));
        }
        if (cause instanceof IOException) {
            throw new BrokenConnection(text(cause));
        }
        return new ServiceFailure(cause.toString());
    }

    private static String text(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    /** The exchange broke off before the answer was complete. */
    private static final class BrokenConnection extends Exception {
        private static final long serialVersionUID = 1L;

        BrokenConnection(String message) {
            super(message);
        }
    }
}
