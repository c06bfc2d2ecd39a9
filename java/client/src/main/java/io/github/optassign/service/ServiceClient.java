package io.github.optassign.service;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.policy.ClientPolicy;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongFunction;
import javax.net.ssl.SSLException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/**
 * Asks the service, once per rebalance, and tells it what was applied in place of its answer, by version 1 of its
 * protocol (docs/reference/http.md).
 */
public final class ServiceClient {
    static final String PROTOCOL = "1";
    /** A service that is busy, or starts. */
    private static final Set<Integer> COME_AGAIN = Set.of(429, 503);

    private final Endpoint config;

    public ServiceClient(Endpoint config) {
        this.config = config;
    }

    /**
     * The service's answer.
     *
     * @param json the TaskAssignment, not yet read
     * @param answeredAt when it was decided by the service's clock, milliseconds since 1970
     */
    public record Reply(String json, long answeredAt) {}

    /**
     * The service's response to a report.
     *
     * @param status of HTTP; 200: it was taken
     */
    public record ReportReply(int status, String body) {}

    /**
     * Posts a snapshot and waits for the answer. If the service wants to be asked again, and there is time, it is.
     *
     * @param rebalance id of the rebalance, by which a report may name it
     * @param snapshot the ApplicationState as JSON
     * @param limit the longest answer, bytes
     * @param rememberedAt when the remembered answer in it was decided, milliseconds since 1970; -1: there is none
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws MemoryRefused if the service does not believe rememberedAt
     * @throws WrongAnswer if there is an answer that is none of protocol 1
     * @throws LateAnswer if the attempt took its time without an answer of status 200
     * @throws ServiceFailure if there is no answer of status 200 for another reason
     */
    public Reply ask(String rebalance, byte[] snapshot, int limit, long rememberedAt, long deadline)
            throws ServiceFailure {
        Password token = readToken(deadline);
        boolean hasWaited = false;
        while (true) {
            HttpCall.Response response = post(
                    config.assignUri(),
                    leftMs -> {
                        Map<String, String> headers = makeHeaders(token, rebalance, config.mode(), rememberedAt);
                        headers.put("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(leftMs)));
                        return headers;
                    },
                    List.of(snapshot),
                    limit,
                    deadline);
            if (response.status() == 200) {
                return readReply(response);
            }
            String answer = "status " + response.status() + " " + decodeStart(response);
            if (response.status() == 400 && rememberedAt >= 0 && answer.contains("Optassign-Remembered-At")) {
                throw new MemoryRefused(answer);
            }
            long pauseMs = COME_AGAIN.contains(response.status()) ? readPauseMs(response) : -1;
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (pauseMs < 0 || pauseMs + ClientPolicy.LEAST_CALL_MS > leftMs) {
                throw hasWaited ? new LateAnswer(answer) : new ServiceFailure(answer);
            }
            hasWaited = true;
            pause(spread(pauseMs, leftMs - ClientPolicy.LEAST_CALL_MS, rebalance));
        }
    }

    /** Reads Retry-After in milliseconds; -1: there is none, or a date, which clocks that differ make no use of. */
    private static long readPauseMs(HttpCall.Response response) {
        String text = response.header("Retry-After");
        return text != null && text.strip().matches("\\d{1,6}") ? 1_000 * Long.parseLong(text.strip()) : -1;
    }

    /** Spreads clients that were told the same: each comes at another time, if there is time. */
    private static long spread(long pauseMs, long mostMs, String rebalance) {
        long later = (pauseMs / ClientPolicy.SPREAD_PARTS) * (rebalance.hashCode() & 0xff) / 0xff;
        return Math.max(1, Math.min(mostMs, Math.max(ClientPolicy.LEAST_CALL_MS, pauseMs + later)));
    }

    private static void pause(long ms) throws ServiceFailure {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for the service");
        }
    }

    /**
     * Tells the service what was applied, and waits until it has taken it or says why not.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if there is no reply in time
     */
    public ReportReply report(AppliedReport report, long deadline) throws ServiceFailure {
        Password token = readToken(deadline);
        HttpCall.Response response = post(
                config.appliedUri(),
                leftMs -> {
                    Map<String, String> headers =
                            makeHeaders(token, report.rebalance(), report.mode(), report.rememberedAt());
                    headers.put("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(config.timeoutMs())));
                    headers.put("Optassign-Applied-At", Long.toString(report.appliedAt()));
                    headers.put("Optassign-Age-Ms", Long.toString(report.ageMs()));
                    return headers;
                },
                report.toBody(),
                ClientPolicy.SMALL_TEXT,
                deadline);
        String body =
                response.status() == 200 ? new String(response.body(), StandardCharsets.UTF_8) : decodeStart(response);
        return new ReportReply(response.status(), body);
    }

    /**
     * Tells the service how far copies are between two rebalances, and waits for its reply.
     *
     * @param progress as JSON
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws ServiceFailure if there is no reply in time
     */
    public ReportReply tellProgress(byte[] progress, long deadline) throws ServiceFailure {
        Password token = readToken(deadline);
        HttpCall.Response response = post(
                config.progressUri(),
                leftMs -> makeHeaders(token, null, config.mode(), -1),
                List.of(progress),
                ClientPolicy.SMALL_TEXT,
                deadline);
        return new ReportReply(response.status(), decodeStart(response));
    }

    private Password readToken(long deadline) throws ServiceFailure {
        try {
            return config.token().read(deadline);
        } catch (ConfigException e) {
            throw new ServiceFailure("configuration: " + e.getMessage());
        } catch (TimeoutException e) {
            throw new LateAnswer("the token's file was not read within " + config.timeoutMs() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while reading the token's file");
        }
    }

    /**
     * Sends a request, once more where the connection breaks: the other side may have closed one that was kept.
     *
     * @param maker makes the headers for the milliseconds that are left
     */
    private HttpCall.Response post(
            URI page, LongFunction<Map<String, String>> maker, List<byte[]> body, int limit, long deadline)
            throws ServiceFailure {
        long half = System.nanoTime() / 2 + deadline / 2;
        try {
            return send(page, maker, body, limit, deadline);
        } catch (BrokenConnection e) {
            if (System.nanoTime() - half > 0) {
                throw new LateAnswer("connection broke: " + e.getMessage());
            }
        }
        try {
            return send(page, maker, body, limit, deadline);
        } catch (BrokenConnection e) {
            String why = "connection broke twice: " + e.getMessage();
            throw System.nanoTime() - half > 0 ? new LateAnswer(why) : new ServiceFailure(why);
        }
    }

    private HttpCall.Response send(
            URI page, LongFunction<Map<String, String>> maker, List<byte[]> body, int limit, long deadline)
            throws ServiceFailure, BrokenConnection {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        try {
            return HttpCall.post(page, maker.apply(leftMs), body, limit, deadline);
        } catch (TimeoutException | SocketTimeoutException e) {
            throw new LateAnswer("no answer within " + config.timeoutMs() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for the service");
        } catch (HttpCall.TooLong e) {
            throw new WrongAnswer(e.getMessage());
        } catch (UnknownHostException e) {
            throw new ServiceFailure("host name not resolved");
        } catch (ConnectException | NoRouteToHostException e) {
            throw new ServiceFailure("no connection: " + describe(e));
        } catch (SSLException e) {
            throw new ServiceFailure("TLS: " + describe(e));
        } catch (IOException e) {
            throw new BrokenConnection(describe(e));
        }
    }

    /** The headers that all requests have. rebalance: null if it is about none. */
    private Map<String, String> makeHeaders(Password token, String rebalance, Mode mode, long rememberedAt) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Content-Type", "application/json");
        headers.put("User-Agent", config.userAgent());
        headers.put("Accept", "application/json");
        headers.put("Optassign-Protocol", PROTOCOL);
        if (rebalance != null) {
            headers.put("Optassign-Rebalance", rebalance);
        }
        headers.put("Optassign-Mode", mode.name().toLowerCase(Locale.ROOT));
        headers.put("Optassign-Plugin", PluginVersion.VERSION);
        if (rememberedAt >= 0) {
            headers.put("Optassign-Remembered-At", Long.toString(rememberedAt));
        }
        if (token != null) {
            headers.put("Authorization", "Bearer " + token.value());
        }
        return headers;
    }

    /** The part of the time that the service gets: some is kept for the way back and the check. */
    static long serviceDeadlineMs(long leftMs) {
        long keptMs = Math.min(leftMs / ClientPolicy.WAY_BACK_PARTS, ClientPolicy.WAY_BACK_MOST_MS);
        return Math.max(1, leftMs - Math.max(ClientPolicy.WAY_BACK_LEAST_MS, keptMs));
    }

    private static Reply readReply(HttpCall.Response response) throws WrongAnswer {
        String protocol = response.header("Optassign-Protocol");
        if (protocol == null || !protocol.strip().equals(PROTOCOL)) {
            String found = protocol == null ? "none" : protocol;
            throw new WrongAnswer("found protocol " + found + " in the answer; allowed: " + PROTOCOL);
        }
        String json;
        try {
            json = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(response.body()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new WrongAnswer("found an answer that is not UTF-8");
        }
        return new Reply(json, readAnsweredAt(response));
    }

    /** Reads when the answer was decided; the time now if the service does not say, or says an implausible time. */
    private static long readAnsweredAt(HttpCall.Response response) {
        String text = response.header("Optassign-Answered-At");
        long at = text != null && text.strip().matches("\\d{1,18}") ? Long.parseLong(text.strip()) : -1;
        return AppliedAnswer.isBelievable(at) ? at : System.currentTimeMillis();
    }

    /** The beginning of the service's response. The JDK keeps the body of status 401 to itself. */
    private static String decodeStart(HttpCall.Response response) {
        byte[] body = response.body();
        return response.status() == 401 && body.length == 0
                ? "the token is missing or wrong"
                : new String(body, 0, Math.min(body.length, ClientPolicy.SHOWN_CHARACTERS), StandardCharsets.UTF_8);
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
