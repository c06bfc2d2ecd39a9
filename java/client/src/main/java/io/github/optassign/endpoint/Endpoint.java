package io.github.optassign.endpoint;

import java.net.URI;

/** The addresses, token and time-out of a service. */
public interface Endpoint {
    /** Returns the address that answers snapshots, or null if no service is configured. */
    URI assignUri();

    /** Returns the address for reports, or null if none are sent. */
    URI appliedUri();

    /** Returns the address for progress, or null if none is sent. */
    URI progressUri();

    /** Returns the time within which an answer is needed, ms. */
    int timeoutMs();

    /** Returns the source of the service's token. */
    TokenSource token();

    Mode mode();

    /** Returns the caller's name in the service's log. */
    String userAgent();
}
