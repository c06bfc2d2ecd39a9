package io.github.optassign;

import java.net.http.HttpClient;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The HTTP client that all calls of a JVM share, so that connections are kept from one pass of a rebalance to the next.
 *
 * <p>It is made when it is first needed, and again by the next call if that failed. One that nobody has used for
 * {@link #LONGEST_UNUSED_MS} gives way to a new one: by the next follow-up, minutes later, a firewall may have dropped
 * its connections without a word, and a call on one of these waits for its time-out. Java 17 cannot close a client: the
 * threads, which are daemons, and the connections of an old one end when it is collected.
 */
final class HttpClients {
    /** Longer than between the two passes of a rebalance, shorter than what firewalls allow an idle connection. */
    static final long LONGEST_UNUSED_MS = 30_000;

    static final HttpClients SHARED = new HttpClients(HttpClients::make, System::nanoTime);

    private final Supplier<HttpClient> maker;
    private final LongSupplier nanoTime;
    private HttpClient client;
    private long lastUsed;

    /**
     * Clients by a maker and a clock of one's own, for tests.
     *
     * @param nanoTime as System.nanoTime
     */
    HttpClients(Supplier<HttpClient> maker, LongSupplier nanoTime) {
        this.maker = maker;
        this.nanoTime = nanoTime;
    }

    /** A redirect is not followed: the token would go with it. */
    static HttpClient make() {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .build();
    }

    /**
     * The client for a call that follows at once.
     *
     * @throws ServiceFailure if there is none and none can be made, such as with a broken TLS set-up
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

    /** The next call opens a connection of its own: one of these was broken, and so others may be. */
    synchronized void renew() {
        client = null;
    }
}
