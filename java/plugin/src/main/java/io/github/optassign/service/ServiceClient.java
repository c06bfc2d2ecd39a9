package io.github.optassign.service;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.config.PluginVersion;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
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
import java.util.function.LongFunction;
import javax.net.ssl.SSLException;

/**
 * Asks the service, once per rebalance, and tells it what was applied in place of its answer, by version 1 of its
 * protocol (docs/protocol.md). All calls of a JVM share connections ({@link HttpClients}).
 */
public final class ServiceClient {
    static final String PROTOCOL = "1";
    /** 100,000 tasks with plan and report take about 20 MB. */
    private static final int GREATEST_ANSWER = 64 * 1024 * 1024;
    /** In the year 9987: later answers must be dated after this one, and the service knows no year after 9999. */
    static final long LATEST_ANSWERED_AT = 253_000_000_000_000L;

    private final PluginConfig config;
    private final HttpClients clients;

    public ServiceClient(PluginConfig config) {
        this(config, HttpClients.SHARED);
    }

    ServiceClient(PluginConfig config, HttpClients clients) {
        this.config = config;
        this.clients = clients;
    }

    /**
     * What the service has answered.
     *
     * @param json the TaskAssignment, not yet read
     * @param answeredAt when it was decided by the service's clock, milliseconds since 1970
     */
    public record Reply(String json, long answeredAt) {}

    /**
     * What the service says to a report.
     *
     * @param status of HTTP; 200: it was taken
     */
    public record ReportReply(int status, String body) {}

    /**
     * Posts a snapshot and waits for the answer.
     *
     * @param rebalance id of the rebalance, by which a report may name it
     * @param snapshot the ApplicationState as JSON
     * @param rememberedAt when the remembered answer in it was decided, milliseconds since 1970; -1: there is none
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if there is no answer of status 200 and protocol 1 in time
     */
    public Reply ask(String rebalance, byte[] snapshot, long rememberedAt, long deadline) throws ServiceFailure {
        return readReply(post(
                leftMs -> buildRequest(config.assignUri(), rebalance, config.mode(), rememberedAt)
                        .header("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(leftMs)))
                        .POST(HttpRequest.BodyPublishers.ofByteArray(snapshot)),
                deadline));
    }

    /**
     * Tells the service what was applied, and waits until it has taken it or says why not.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if there is no reply in time
     */
    public ReportReply report(AppliedReport report, long deadline) throws ServiceFailure {
        HttpResponse<byte[]> response = post(
                leftMs -> buildRequest(config.appliedUri(), report.rebalance(), report.mode(), report.rememberedAt())
                        .header("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(config.timeoutMs())))
                        .header("Optassign-Applied-At", Long.toString(report.appliedAt()))
                        .header("Optassign-Age-Ms", Long.toString(report.ageMs()))
                        .POST(report.toBody()),
                deadline);
        return new ReportReply(response.statusCode(), new String(response.body(), StandardCharsets.UTF_8));
    }

    private HttpResponse<byte[]> post(LongFunction<HttpRequest.Builder> maker, long deadline) throws ServiceFailure {
        long start = System.nanoTime();
        try {
            return send(maker, deadline);
        } catch (BrokenConnection e) {
            // The other side may have closed a connection that was kept; asking again does no harm.
            clients.drop();
            if (System.nanoTime() - start > (deadline - start) / 2) {
                throw new ServiceFailure("connection broke: " + e.getMessage());
            }
        }
        try {
            return send(maker, deadline);
        } catch (BrokenConnection e) {
            throw new ServiceFailure("connection broke twice: " + e.getMessage());
        }
    }

    /**
     * Sends a request and waits for the whole response.
     *
     * @param maker makes the request for the milliseconds that are left
     */
    private HttpResponse<byte[]> send(LongFunction<HttpRequest.Builder> maker, long deadline)
            throws ServiceFailure, BrokenConnection {
        HttpClient http = clients.get();
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (leftMs <= 0) {
            throw timeoutFailure();
        }
        HttpRequest request =
                maker.apply(leftMs).timeout(Duration.ofMillis(leftMs)).build();
        CompletableFuture<HttpResponse<byte[]>> call =
                http.sendAsync(request, head -> new LimitedBody(GREATEST_ANSWER));
        try {
            // The request's own time-out ends with the head of the response; this one covers the body too.
            return call.get(leftMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            call.cancel(true);
            throw timeoutFailure();
        } catch (InterruptedException e) {
            call.cancel(true);
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for the service");
        } catch (ExecutionException e) {
            throw toFailure(e.getCause());
        }
    }

    /** Begins a request with the headers that all have. */
    private HttpRequest.Builder buildRequest(URI page, String rebalance, PluginConfig.Mode mode, long rememberedAt) {
        HttpRequest.Builder request = HttpRequest.newBuilder(page)
                .header("Content-Type", "application/json")
                .header("Optassign-Protocol", PROTOCOL)
                .header("Optassign-Rebalance", rebalance)
                .header("Optassign-Mode", mode.name().toLowerCase(Locale.ROOT))
                .header("Optassign-Plugin", PluginVersion.VERSION);
        if (rememberedAt >= 0) {
            request.header("Optassign-Remembered-At", Long.toString(rememberedAt));
        }
        if (config.token() != null) {
            request.header("Authorization", "Bearer " + config.token().value());
        }
        return request;
    }

    /**
     * The part of the time that the service gets: a tenth, from 30 to 200 ms, is kept for the way back and the check.
     */
    static long serviceDeadlineMs(long leftMs) {
        return Math.max(1, leftMs - Math.max(30, Math.min(leftMs / 10, 200)));
    }

    private static Reply readReply(HttpResponse<byte[]> response) throws ServiceFailure {
        if (response.statusCode() != 200) {
            throw new ServiceFailure("status " + response.statusCode() + " " + decodeStart(response.body()));
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
        return new Reply(json, readAnsweredAt(response));
    }

    /**
     * Reads when the answer was decided; the time now if the service does not say, or says what it would not take back.
     */
    private static long readAnsweredAt(HttpResponse<byte[]> response) {
        try {
            long at =
                    response.headers().firstValueAsLong("Optassign-Answered-At").orElse(-1);
            return at >= 0 && at <= LATEST_ANSWERED_AT ? at : System.currentTimeMillis();
        } catch (NumberFormatException e) {
            return System.currentTimeMillis();
        }
    }

    private static String decodeStart(byte[] body) {
        return new String(body, 0, Math.min(body.length, 300), StandardCharsets.UTF_8);
    }

    private ServiceFailure timeoutFailure() {
        return new ServiceFailure("no answer within " + config.timeoutMs() + " ms");
    }

    private ServiceFailure toFailure(Throwable cause) throws BrokenConnection {
        if (cause instanceof HttpTimeoutException) {
            return timeoutFailure();
        }
        if (cause instanceof ConnectException) {
            boolean unresolved = cause.getCause() instanceof UnresolvedAddressException;
            return new ServiceFailure(unresolved ? "host name not resolved" : "no connection: " + describe(cause));
        }
        if (cause instanceof SSLException) {
            return new ServiceFailure("TLS: " + describe(cause));
        }
        if (cause instanceof IOException) {
            throw new BrokenConnection(describe(cause));
        }
        return new ServiceFailure(cause.toString());
    }

    private static String describe(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    /** Says that the exchange broke off before the answer was complete. */
    private static final class BrokenConnection extends Exception {
        private static final long serialVersionUID = 1L;

        BrokenConnection(String message) {
            super(message);
        }
    }
}
