package io.github.optassign.service;

import java.net.http.HttpClient;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Hands out the HTTP client that all calls of a JVM share, so that connections are kept from one pass of a rebalance to
 * the next.
 *
 * <p>The client is made when it is first needed; if that fails, the next call tries again. A client that was not used
 * for {@link #LONGEST_UNUSED_MS} is replaced by a new one: by the next follow-up, minutes later, a firewall may have
 * dropped its connections without telling either side, and a call on one of these would wait for its time-out. Java 17
 * cannot close a client: the threads of an old one, which are daemons, and its connections end when it is garbage
 * collected.
 */
final class HttpClients {
    /** Longer than between the two passes of a rebalance, shorter than what firewalls allow an idle connection. */
    static final long LONGEST_UNUSED_MS = 30_000;

    static final HttpClients SHARED = new HttpClients(HttpClients::newClient, System::nanoTime);

    private final Supplier<HttpClient> maker;
    private final LongSupplier nanoTime;
    private HttpClient client;
    private long lastUsed;

    /**
     * Hands out clients of another maker, by another clock, as tests want it.
     *
     * @param maker makes a client
     * @param nanoTime as System.nanoTime
     */
    HttpClients(Supplier<HttpClient> maker, LongSupplier nanoTime) {
        this.maker = maker;
        this.nanoTime = nanoTime;
    }

    /** Makes a client that does not follow redirects, since the token would go with them. */
    static HttpClient newClient() {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .build();
    }

    /**
     * Returns the client for a call that follows at once.
     *
     * @throws ServiceFailure if there is none and none can be made, as with a broken TLS set-up
     */
    synchronized HttpClient get() throws ServiceFailure {
        long now = nanoTime.getAsLong();
        if (client == null || TimeUnit.NANOSECONDS.toMillis(now - lastUsed) > LONGEST_UNUSED_MS) {
            client = null;
            try {
                client = maker.get();
            } catch (RuntimeException e) {
                throw new ServiceFailure("no HTTP client: " + e);
            }
        }
        lastUsed = now;
        return client;
    }

    /** Drops the client, so that the next call opens a new connection: where one was broken, others may be. */
    synchronized void drop() {
        client = null;
    }
}
