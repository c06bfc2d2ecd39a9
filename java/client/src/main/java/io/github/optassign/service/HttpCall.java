package io.github.optassign.service;

import io.github.optassign.policy.ClientPolicy;
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
 * One request to the service, on a thread of its own that ends with it. A caller waits up to a deadline; then the
 * connection is closed under the thread, wherever it stands.
 *
 * <p>It is no {@code java.net.http.HttpClient}: each one keeps threads, which in Java 17 no caller can end, and
 * connections for 20 minutes, which firewalls drop without telling either side. Avoiding both would take a new client
 * for every request. Here the JDK keeps a connection for 5 s, enough for the second pass of a rebalance.
 */
final class HttpCall {
    private static final int CHUNK = 1 << 16;
    /** The same for all calls: the JDK shares connections of one factory only. Null: not yet needed. */
    private static volatile SSLSocketFactory trusted;

    private final HttpURLConnection connection;
    private final List<byte[]> body;
    private final int limit;
    private final long deadline;

    /**
     * The response.
     *
     * @param status of HTTP; -1: what came back is no HTTP
     */
    record Response(int status, Map<String, List<String>> headers, byte[] body) {
        /** The first value of a header; null: there is none. */
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
     * @param body in parts
     * @param limit of the response's body in bytes; a longer one is an error
     * @param deadline as of System.nanoTime; nothing waits longer
     * @throws TooLong if the response is longer than the limit
     * @throws IOException whatever goes wrong on the way
     * @throws TimeoutException if there is no whole response in time
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
        connection.setInstanceFollowRedirects(false); // the token would go with it
        connection.setConnectTimeout(leftMs);
        connection.setReadTimeout(leftMs);
        // Streaming: otherwise the JDK would repeat the request by itself, and more than once.
        connection.setFixedLengthStreamingMode(
                body.stream().mapToLong(part -> part.length).sum());
        headers.forEach(connection::setRequestProperty);
        return new HttpCall(connection, body, limit, deadline).await();
    }

    /** Opens a connection that is checked by the JVM's own trust, whatever the application does on its connections. */
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
            https.setHostnameVerifier((host, session) -> false); // is asked where the certificate is another's
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

    /** Ends the call's thread. To close a connection may wait for the other side: not on this thread. */
    private void abandon(Future<?> call) {
        try {
            start("optassign-http-end", () -> disconnectUntilDone(call));
        } catch (OutOfMemoryError e) {
            // No thread is to be had: the call's own ends by its time-outs.
        }
    }

    /** Closes the connection, again and again: what is not yet open cannot be closed, and would be opened. */
    private void disconnectUntilDone(Future<?> call) {
        for (long pauseMs = ClientPolicy.FIRST_LOOK_MS;
                !call.isDone();
                pauseMs = Math.min(2 * pauseMs, ClientPolicy.LONGEST_LOOK_MS)) {
            connection.disconnect();
            try {
                call.get(pauseMs, TimeUnit.MILLISECONDS);
            } catch (TimeoutException | ExecutionException e) {
                continue; // the loop looks whether it is done
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
                    "found " + bytes.length + " of " + length + " bytes"); // the JDK takes that for an end
        }
        return new Response(status, connection.getHeaderFields(), bytes);
    }

    private byte[] read(InputStream in) throws IOException, TimeoutException {
        try (in) {
            return readAll(in, limit, deadline);
        } catch (TooLong | TimeoutException e) {
            connection.disconnect(); // otherwise the JDK would read on, to keep the connection
            throw e;
        }
    }

    /** Reads up to a limit and a deadline: whatever answers at the service's address must not fill the heap. */
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

    /** Says that a response is longer than it may be. */
    static final class TooLong extends IOException {
        private static final long serialVersionUID = 1L;

        TooLong(int limit) {
            super("found more than " + limit + " bytes");
        }
    }
}
