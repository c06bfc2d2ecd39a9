package io.github.optassign.broker;

import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.testing.HttpService;
import java.io.IOException;
import java.net.URI;

/** A service that the broker's assignor asks. */
final class FakeOpinionService extends HttpService {
    FakeOpinionService() throws IOException {}

    BrokerEndpoint endpoint(int timeoutMs) {
        return new BrokerEndpoint(URI.create(url() + "/v1/assign"), timeoutMs, TokenSource.of(null, null));
    }
}
