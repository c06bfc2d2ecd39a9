package io.github.optassign.service;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;

/**
 * A request to the service, on a thread of its own. The caller waits up to a deadline; then another thread closes the
 * connection, which ends the request's thread.
 *
 * <p>It does not use {@code java.net.http.HttpClient}. In Java 17 its threads cannot be ended, and it keeps connections
 * for 20 minutes, which firewalls drop silently. HttpURLConnection keeps a connection for 5 s, enough for the second
 * pass of a rebalance.
 */
final class HttpCall {
    /** The first pause between two checks for the end of a call. Most calls end at once. */
    private static final long FIRST_LOOK_MS = 10;
    /** The longest pause between two checks for the end of a call. An interrupted thread ends within it. */
    private static final long LONGEST_LOOK_MS = 5_000;

    private static final int CHUNK = 1 << 16;
    /**
     * The JVM's default factory, shared by all calls, since the JDK keeps connections per factory. Null before the
     * first call.
     */
    private static volatile SSLSocketFactory trusted;

    private final HttpURLConnection connection;
    private final List<byte[]> body;
    private final int limit;
    private final long deadline;

    /**
     * A response.
     *
     * @param status the HTTP status
     */
    record Response(int status, Map<String, List<String>> headers, byte[] body) {
        /** Returns the first value of a header, or null if the response has no such header. */
        String header(String name) {
            for (Map.Entry<String, List<String>> header : headers.entrySet()) {
                if (name.equalsIgnoreCase(header.getKey())) {
                    return header.getValue().get(0);
                }
            }
            return null;
        }
    }

    private HttpCall(HttpURLConnection connection, List<byte[]> body, int limit, long deadline) {
        this.connection = connection;
        this.body = body;
        this.limit = limit;
        this.deadline = deadline;
    }

    /**
     * Posts a request, and waits for the whole response.
     *
     * @param body the body in parts
     * @param limit the maximum length of the response's body, bytes
     * @param deadline the end of the wait, as of System.nanoTime
     * @throws TooLong if the response is longer than the limit
     * @throws IOException if the connection or the response fails
     * @throws TimeoutException if the response is not complete in time
     */
    static Response post(URI page, Map<String, String> headers, List<byte[]> body, int limit, long deadline)
            throws IOException, TimeoutException, InterruptedException {
        int leftMs = (int) Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
        if (leftMs <= 0) {
            throw new TimeoutException();
        }
        HttpURLConnection connection = open(page);
        connection.setRequestMethod("POST");
        connection.setDoOutput(true);
        connection.setUseCaches(false);
        connection.setInstanceFollowRedirects(false); // a redirect would pass the token on
        connection.setConnectTimeout(leftMs);
        connection.setReadTimeout(leftMs);
        // Without streaming mode the JDK would repeat a failed request by itself.
        connection.setFixedLengthStreamingMode(
                body.stream().mapToLong(part -> part.length).sum());
        headers.forEach(connection::setRequestProperty);
        return new HttpCall(connection, body, limit, deadline).await();
    }

    /**
     * Opens a connection that trusts the JVM's default certificates, even if the application has set another default.
     */
    private static HttpURLConnection open(URI page) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) page.toURL().openConnection();
        if (connection instanceof HttpsURLConnection https) {
            try {
                if (trusted == null) {
                    trusted = SSLContext.getDefault().getSocketFactory();
                }
                https.setSSLSocketFactory(trusted);
            } catch (NoSuchAlgorithmException e) {
                throw new IOException("no TLS: " + e, e);
            }
            https.setHostnameVerifier((host, session) -> false); // the JDK asks only if the name does not match
        }
        return connection;
    }

    private Response await() throws IOException, TimeoutException, InterruptedException {
        FutureTask<Response> call = new FutureTask<>(this::exchange);
        start("optassign-http", call);
        boolean done = false;
        try {
            Response response = call.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            done = true;
            return response;
        } catch (ExecutionException e) {
            done = true;
            if (e.getCause() instanceof IOException broken) {
                throw broken;
            }
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new IOException(e.getCause());
        } finally {
            if (!done) {
                abandon(call);
            }
        }
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends the call's thread. Another thread closes the connection, since that may block. */
    private void abandon(Future<?> call) {
        try {
            start("optassign-http-end", () -> disconnectUntilDone(call));
        } catch (OutOfMemoryError e) {
            // No thread is available; the call's thread ends by its own time-outs.
        }
    }

    /** Closes the connection until the call has ended. A connection that is still being opened cannot be closed yet. */
    private void disconnectUntilDone(Future<?> call) {
        for (long pauseMs = FIRST_LOOK_MS; !call.isDone(); pauseMs = Math.min(2 * pauseMs, LONGEST_LOOK_MS)) {
            connection.disconnect();
            try {
                call.get(pauseMs, TimeUnit.MILLISECONDS);
            } catch (TimeoutException | ExecutionException e) {
                continue; // the loop's condition tells whether the call has ended
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private Response exchange() throws IOException, TimeoutException {
        try (OutputStream out = connection.getOutputStream()) {
            for (byte[] part : body) {
                out.write(part);
            }
        }
        int status = connection.getResponseCode();
        if (status < 0) {
            throw new IOException("found no HTTP");
        }
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        byte[] bytes = in == null ? new byte[0] : read(in);
        long length = connection.getContentLengthLong();
        if (in != null && length >= 0 && bytes.length < length && status != 204) {
            throw new IOException(
                    "found " + bytes.length + " of " + length + " bytes"); // the JDK does not report a truncated body
        }
        return new Response(status, connection.getHeaderFields(), bytes);
    }

    private byte[] read(InputStream in) throws IOException, TimeoutException {
        try (in) {
            return readAll(in, limit, deadline);
        } catch (TooLong | TimeoutException e) {
            connection.disconnect(); // otherwise the JDK would read the rest to keep the connection
            throw e;
        }
    }

    /** Reads a body up to a length and a deadline, so that no response from the service's address fills the heap. */
    static byte[] readAll(InputStream in, int limit, long deadline) throws IOException, TimeoutException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] chunk = new byte[CHUNK];
        for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
            if (read > limit - bytes.size()) {
                throw new TooLong(limit);
            }
            bytes.write(chunk, 0, read);
            if (System.nanoTime() > deadline) {
                throw new TimeoutException();
            }
        }
        return bytes.toByteArray();
    }

    /** Signals a response that is longer than its limit. */
    static final class TooLong extends IOException {
        private static final long serialVersionUID = 1L;

        TooLong(int limit) {
            super("found more than " + limit + " bytes");
        }
    }
}
