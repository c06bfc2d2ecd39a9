package io.github.optassign.endpoint;

import java.net.URI;

/** A service, and how it is asked. */
public interface Endpoint {
    /** Where it answers; null: there is none. */
    URI assignUri();

    /** Where it takes reports; null: there is none. */
    URI appliedUri();

    /** For how long an answer is of use. */
    int timeoutMs();

    /** Where its token is from. */
    TokenSource token();

    Mode mode();

    /** Who asks, as the service's log has it. */
    String userAgent();
}
