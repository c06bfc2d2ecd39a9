package io.github.optassign.endpoint;

import java.net.URI;

/** A service, and how it is asked. */
public interface Endpoint {
    /** The address for questions; null: there is none. */
    URI assignUri();

    /** The address for reports; null: there is none. */
    URI appliedUri();

    /** The address for progress; null: there is none. */
    URI progressUri();

    /** For how long an answer is of use. */
    int timeoutMs();

    /** The source of its token. */
    TokenSource token();

    Mode mode();

    /** The name of the asker in the service's log. */
    String userAgent();
}
