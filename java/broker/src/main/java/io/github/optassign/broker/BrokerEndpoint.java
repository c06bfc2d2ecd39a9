package io.github.optassign.broker;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.endpoint.ServiceUrl;
import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.policy.BrokerPolicy;
import io.github.optassign.policy.ServicePolicy;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/**
 * The service behind the planner, as it is configured in the broker.
 *
 * @param assignUri where it answers
 * @param timeoutMs how long an answer is waited for, by a thread that no other waits for
 */
record BrokerEndpoint(URI assignUri, int timeoutMs, TokenSource token) implements Endpoint {
    static final String TIMEOUT_MS = "optassign.timeout.ms";

    /** Reads what is configured; null: no service, or none that can be asked, which a remark says. */
    static BrokerEndpoint read(Map<String, ?> configs, List<String> remarks) {
        String url = toText(configs.get(ServiceUrl.KEY));
        if (url == null) {
            for (String key : List.of(TIMEOUT_MS, TokenSource.TOKEN, TokenSource.TOKEN_FILE)) {
                if (configs.get(key) != null) {
                    remarks.add(key + ": found without " + ServiceUrl.KEY + "; allowed: with it; left out");
                }
            }
            return null;
        }
        try {
            ServiceUrl.check(ServiceUrl.KEY, url);
            String token = toText(configs.get(TokenSource.TOKEN));
            TokenSource source = TokenSource.of(
                    token == null ? null : new Password(token), toText(configs.get(TokenSource.TOKEN_FILE)));
            int timeoutMs = (int) BrokerConfig.readNumber(
                    configs,
                    TIMEOUT_MS,
                    ServicePolicy.SHORTEST_TIMEOUT_MS,
                    ServicePolicy.LONGEST_TIMEOUT_MS,
                    BrokerPolicy.TIMEOUT_MS,
                    remarks);
            return new BrokerEndpoint(ServiceUrl.page(url, "/v1/assign"), timeoutMs, source);
        } catch (ConfigException e) {
            remarks.add(e.getMessage() + "; the service is not asked");
            return null;
        }
    }

    private static String toText(Object found) {
        if (found == null) {
            return null;
        }
        return (found instanceof Password password ? password.value() : found.toString()).trim();
    }

    @Override
    public URI appliedUri() {
        return null;
    }

    @Override
    public URI progressUri() {
        return null;
    }

    /** The planner makes its own way to a plan, so no answer of the service's is applied as it is. */
    @Override
    public Mode mode() {
        return Mode.SHADOW;
    }

    @Override
    public String userAgent() {
        return "optassign-broker/" + PluginVersion.VERSION;
    }
}
