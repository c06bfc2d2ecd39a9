package io.github.optassign.broker;

import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.testing.HttpService;
import java.io.IOException;
import java.net.URI;

/** A service for tests of the broker's assignor. */
final class FakeOpinionService extends HttpService {
    FakeOpinionService() throws IOException {}

    BrokerEndpoint endpoint(int timeoutMs) {
        return new BrokerEndpoint(URI.create(url() + "/v1/assign"), timeoutMs, TokenSource.of(null, null));
    }
}
