package io.github.optassign.broker;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.endpoint.ServiceUrl;
import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.policy.ServicePolicy;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;

/**
 * The service behind the planner, as configured in the broker.
 *
 * @param assignUri the address for snapshots
 * @param timeoutMs the time-out of a request, which runs on a background thread, ms
 */
record BrokerEndpoint(URI assignUri, int timeoutMs, TokenSource token) implements Endpoint {
    /**
     * The default time-out of a request for a second opinion. Members do not wait for it, so it exceeds the plug-in's.
     */
    private static final long DEFAULT_TIMEOUT_MS = 10_000;

    static final String TIMEOUT_MS = "optassign.timeout.ms";

    /**
     * Reads the configuration of the service.
     *
     * @return null if no service is configured, or if its configuration is invalid, which adds a remark
     */
    static BrokerEndpoint read(Map<String, ?> configs, List<String> remarks) {
        String url = toText(configs.get(ServiceUrl.KEY));
        if (url == null) {
            for (String key : List.of(TIMEOUT_MS, TokenSource.TOKEN, TokenSource.TOKEN_FILE)) {
                if (configs.get(key) != null) {
                    remarks.add(key + ": found without " + ServiceUrl.KEY + "; allowed: both; ignored");
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
                    DEFAULT_TIMEOUT_MS,
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

    /**
     * Returns shadow mode, since the planner takes its own steps to a plan, so no answer of the service is applied
     * unchanged.
     */
    @Override
    public Mode mode() {
        return Mode.SHADOW;
    }

    @Override
    public String userAgent() {
        return "optassign-broker/" + PluginVersion.VERSION;
    }
}
