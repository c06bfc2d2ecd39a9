package io.github.optassign.service;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.learn.AppliedAnswer;
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
 * A client of the service by version 1 of its protocol (docs/reference/http.md). It asks for answers, and sends reports
 * and progress.
 */
public final class ServiceClient {
    /** The time-out divided by the time reserved for the response and its check, within the next two bounds. */
    private static final int WAY_BACK_PARTS = 10;
    /** The least time reserved so. The check of a small answer takes milliseconds; a pause of the JVM may add to it. */
    private static final long WAY_BACK_LEAST_MS = 30;
    /** The most time reserved so. The check of 10,000 tasks takes less. */
    private static final long WAY_BACK_MOST_MS = 200;
    /**
     * The pause divided by the longest delay added to it, so that clients with the same pause return at different
     * times.
     */
    private static final int SPREAD_PARTS = 4;
    /** The least time of a request and its response. With less time left, the planner answers at once. */
    private static final long LEAST_CALL_MS = 50;

    static final String PROTOCOL = "1";
    /** HTTP statuses of a service that is busy or starts, and asks to be called again. */
    private static final Set<Integer> ASK_AGAIN = Set.of(429, 503);

    private final Endpoint config;

    public ServiceClient(Endpoint config) {
        this.config = config;
    }

    /**
     * The service's answer.
     *
     * @param json the TaskAssignment, not yet read
     * @param answeredAt the time of the decision by the service's clock, milliseconds since 1970
     */
    public record Reply(String json, long answeredAt) {}

    /**
     * The service's response to a report.
     *
     * @param status the HTTP status; 200 if the service accepted the report
     * @param isOfService false if something between answered, such as a proxy while the service is away
     */
    public record ReportReply(int status, String body, boolean isOfService) {
        /** The status for an unknown page. */
        private static final int NOT_FOUND = 404;

        /** Returns whether the service has no such page. A proxy may find the page later. */
        public boolean isUnknownPage() {
            return status == NOT_FOUND && isOfService;
        }
    }

    /**
     * Posts a snapshot and waits for the answer. If the service asks for a later call, calls again while there is time.
     *
     * @param rebalance the id of the rebalance, to which a report may refer
     * @param snapshot the ApplicationState as JSON
     * @param limit the maximum length of the answer, bytes
     * @param rememberedAt the time of the snapshot's remembered answer, milliseconds since 1970; -1 if there is none
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws MemoryRefused if the service refuses {@code rememberedAt}
     * @throws WrongAnswer if the answer does not follow protocol 1
     * @throws LateAnswer if the time passes without an answer of status 200
     * @throws ServiceFailure if the service cannot be reached or answers with another status
     */
    public Reply ask(String rebalance, byte[] snapshot, int limit, long rememberedAt, long deadline)
            throws ServiceFailure {
        Password token = readToken(deadline);
        boolean hasWaited = false;
        while (true) {
            HttpCall.Response response = post(
                    config.assignUri(),
                    leftMs -> {
                        Map<String, String> headers = createHeaders(token, rebalance, config.mode(), rememberedAt);
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
            long pauseMs = ASK_AGAIN.contains(response.status()) ? readPauseMs(response) : -1;
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (pauseMs < 0 || pauseMs + LEAST_CALL_MS > leftMs) {
                throw hasWaited ? new LateAnswer(answer) : new ServiceFailure(answer);
            }
            hasWaited = true;
            pause(spread(pauseMs, leftMs - LEAST_CALL_MS, rebalance));
        }
    }

    /** Returns the header Retry-After in milliseconds, or -1 if it is missing or a date, since clocks may differ. */
    private static long readPauseMs(HttpCall.Response response) {
        String text = response.header("Retry-After");
        return text != null && text.strip().matches("\\d{1,6}") ? 1_000 * Long.parseLong(text.strip()) : -1;
    }

    /** Returns the service's pause, lengthened differently for each rebalance, but at most {@code mostMs}. */
    private static long spread(long pauseMs, long mostMs, String rebalance) {
        long later = (pauseMs / SPREAD_PARTS) * (rebalance.hashCode() & 0xff) / 0xff;
        return Math.max(1, Math.min(mostMs, Math.max(LEAST_CALL_MS, pauseMs + later)));
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
     * Sends a report on an applied answer, and waits for the reply.
     *
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws ServiceFailure if there is no reply in time
     */
    public ReportReply report(AppliedReport report, long deadline) throws ServiceFailure {
        Password token = readToken(deadline);
        HttpCall.Response response = post(
                config.appliedUri(),
                leftMs -> {
                    Map<String, String> headers =
                            createHeaders(token, report.rebalance(), report.mode(), report.rememberedAt());
                    headers.put("Optassign-Deadline-Ms", Long.toString(serviceDeadlineMs(config.timeoutMs())));
                    headers.put("Optassign-Applied-At", Long.toString(report.appliedAt()));
                    headers.put("Optassign-Age-Ms", Long.toString(report.ageMs()));
                    return headers;
                },
                report.toBody(),
                TokenSource.SMALL_TEXT,
                deadline);
        String body =
                response.status() == 200 ? new String(response.body(), StandardCharsets.UTF_8) : decodeStart(response);
        return new ReportReply(response.status(), body, isOfService(response));
    }

    /**
     * Sends the restore progress of copies between two rebalances, and waits for the reply.
     *
     * @param progress the progress as JSON
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws ServiceFailure if there is no reply in time
     */
    public ReportReply reportProgress(byte[] progress, long deadline) throws ServiceFailure {
        Password token = readToken(deadline);
        HttpCall.Response response = post(
                config.progressUri(),
                leftMs -> createHeaders(token, null, config.mode(), -1),
                List.of(progress),
                TokenSource.SMALL_TEXT,
                deadline);
        return new ReportReply(response.status(), decodeStart(response), isOfService(response));
    }

    private static boolean isOfService(HttpCall.Response response) {
        return response.header("Optassign-Protocol") != null;
    }

    private Password readToken(long deadline) throws ServiceFailure {
        try {
            return config.token().read(deadline);
        } catch (ConfigException e) {
            throw new ServiceFailure("configuration: " + e.getMessage());
        } catch (TimeoutException e) {
            throw new LateAnswer("the token's file was not read in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while reading the token's file");
        }
    }

    /**
     * Sends a request, and repeats it once if the connection breaks, since the service may have closed a kept
     * connection.
     *
     * @param headers creates the headers from the milliseconds that are left
     */
    private HttpCall.Response post(
            URI page, LongFunction<Map<String, String>> headers, List<byte[]> body, int limit, long deadline)
            throws ServiceFailure {
        long half = System.nanoTime() / 2 + deadline / 2;
        try {
            return send(page, headers, body, limit, deadline);
        } catch (BrokenConnection e) {
            if (System.nanoTime() - half > 0) {
                throw new LateAnswer("connection broke: " + e.getMessage());
            }
        }
        try {
            return send(page, headers, body, limit, deadline);
        } catch (BrokenConnection e) {
            String why = "connection broke twice: " + e.getMessage();
            throw System.nanoTime() - half > 0 ? new LateAnswer(why) : new ServiceFailure(why);
        }
    }

    private HttpCall.Response send(
            URI page, LongFunction<Map<String, String>> headers, List<byte[]> body, int limit, long deadline)
            throws ServiceFailure, BrokenConnection {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        try {
            return HttpCall.post(page, headers.apply(leftMs), body, limit, deadline);
        } catch (TimeoutException | SocketTimeoutException e) {
            // Reports have more time than questions.
            throw new LateAnswer("no answer within " + Math.max(config.timeoutMs(), leftMs) + " ms");
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

    /**
     * Returns the headers of all requests.
     *
     * @param rebalance the id of the rebalance, or null if the request concerns none
     */
    private Map<String, String> createHeaders(Password token, String rebalance, Mode mode, long rememberedAt) {
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

    /**
     * Returns the share of the time-out that is granted to the service, ms. The rest is for the response and its check.
     */
    static long serviceDeadlineMs(long leftMs) {
        long reservedMs = Math.min(leftMs / WAY_BACK_PARTS, WAY_BACK_MOST_MS);
        return Math.max(1, leftMs - Math.max(WAY_BACK_LEAST_MS, reservedMs));
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

    /**
     * Returns the time of the service's decision, milliseconds since 1970, or the current time if the header is missing
     * or implausible.
     */
    private static long readAnsweredAt(HttpCall.Response response) {
        String text = response.header("Optassign-Answered-At");
        long at = text != null && text.strip().matches("\\d{1,18}") ? Long.parseLong(text.strip()) : -1;
        return AppliedAnswer.isPlausibleDate(at) ? at : System.currentTimeMillis();
    }

    /** Returns the beginning of the service's response, for the log. The JDK does not return the body of status 401. */
    private static String decodeStart(HttpCall.Response response) {
        byte[] body = response.body();
        return response.status() == 401 && body.length == 0
                ? "the token is missing or wrong"
                : new String(body, 0, Math.min(body.length, ServiceFailure.SHOWN_CHARACTERS), StandardCharsets.UTF_8);
    }

    private static String describe(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    /** Signals that the connection broke before the answer was complete. */
    private static final class BrokenConnection extends Exception {
        private static final long serialVersionUID = 1L;

        BrokenConnection(String message) {
            super(message);
        }
    }
}
