package io.github.optassign.config;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.endpoint.ServiceUrl;
import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.policy.ClientPolicy;
import io.github.optassign.policy.InputPolicy;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.streams.StreamsConfig;

/** Reads the plug-in's configuration from an application's Streams configuration, and checks it. */
public final class PluginConfig implements Endpoint {
    private static final int DEFAULT_MAX_POLL_INTERVAL_MS = 300_000;
    private static final int DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
    private static final int DEFAULT_SESSION_TIMEOUT_MS = 45_000;

    private final URI assignUri;
    private final URI appliedUri;
    private final URI progressUri;
    private final long acceptableRecoveryLag;
    private final int timeoutMs;
    private final String shortened;
    private final TokenSource token;
    private final String application;
    private final Mode mode;
    private final String shadowAssignor;
    private final ServiceOptions options;
    private final List<String> unknown;
    private final List<String> unused;
    private final String ignored;

    private PluginConfig(Map<String, ?> configs) {
        this(configs, "");
    }

    private PluginConfig(Map<String, ?> configs, String ignored) {
        this.ignored = ignored;
        Map<String, Object> ours = new TreeMap<>();
        configs.forEach((name, value) -> {
            if (name.startsWith("optassign.")) {
                ours.put(name, value);
            }
        });
        TreeSet<String> others = new TreeSet<>(ours.keySet());
        others.removeAll(ConfigKeys.DEFINITION.names());
        unknown = List.copyOf(others);
        Map<String, Object> parsed = ConfigKeys.DEFINITION.parse(ours);
        String url = (String) parsed.get(ConfigKeys.URL);
        assignUri = ServiceUrl.page(url, "/v1/assign");
        appliedUri = ServiceUrl.page(url, "/v1/applied");
        progressUri = ServiceUrl.page(url, "/v1/progress");
        acceptableRecoveryLag = readRecoveryLag(configs);
        TreeSet<String> unheard = new TreeSet<>(url == null ? ConfigKeys.OF_THE_SERVICE : List.of());
        unheard.retainAll(ours.keySet());
        unused = List.copyOf(unheard);
        int wantedMs = (Integer) parsed.get(ConfigKeys.TIMEOUT_MS);
        checkTimeout(configs, wantedMs);
        int sessionMs =
                readConsumerConfig(configs, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, DEFAULT_SESSION_TIMEOUT_MS);
        timeoutMs = Math.min(wantedMs, Math.max(1, (int) (sessionMs / ClientPolicy.TIMEOUTS_PER_SESSION)));
        shortened = timeoutMs == wantedMs
                ? ""
                : ConfigKeys.TIMEOUT_MS + ": found " + wantedMs + "; allowed: at most " + timeoutMs + ", two thirds of "
                        + ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG + " (" + sessionMs
                        + "): the leader's heart does not beat while it waits";
        token = TokenSource.of((Password) parsed.get(ConfigKeys.TOKEN), (String) parsed.get(ConfigKeys.TOKEN_FILE));
        mode = Mode.valueOf(((String) parsed.get(ConfigKeys.MODE)).toUpperCase(Locale.ROOT));
        if (mode == Mode.SHADOW && url == null) {
            throw new ConfigException("Found " + ConfigKeys.MODE + "=shadow without " + ConfigKeys.URL
                    + "; allowed: with it, as it is the service that compares");
        }
        shadowAssignor = (String) parsed.get(ConfigKeys.SHADOW_ASSIGNOR);
        application = findApplication(configs);
        ServiceOptions given = ServiceOptions.of(parsed);
        options = url == null ? given.withoutService() : given;
    }

    /**
     * Reads and checks a configuration, for an application that wants to fail early: unknown keys of optassign are
     * refused, and the token's file is read.
     *
     * @param configs all configs of the application: optassign's, {@code application.id}, {@code max.poll.interval.ms},
     *     {@code request.timeout.ms}
     * @throws ConfigException with the key, what was found and what is allowed
     */
    public static PluginConfig of(Map<String, ?> configs) {
        PluginConfig config = new PluginConfig(liftPrefixes(configs));
        if (!config.unknown.isEmpty()) {
            throw new ConfigException(config.describeUnknown());
        }
        if (!config.unused.isEmpty()) {
            throw new ConfigException(config.describeUnused());
        }
        if (!config.shortened.isEmpty()) {
            throw new ConfigException(config.shortened);
        }
        config.token.check();
        return config;
    }

    /**
     * Adds what Kafka Streams makes of keys with a prefix for consumers. Keys without one go to all clients of an
     * application, of which each but the main consumers logs that they "were supplied but are not used yet". Kafka
     * gives keys with {@code consumer.} to consumers only; those with {@code main.consumer.} it gives to all, too, as
     * they are.
     */
    private static Map<String, Object> liftPrefixes(Map<String, ?> configs) {
        Map<String, Object> lifted = new HashMap<>(configs);
        for (String prefix : List.of(StreamsConfig.CONSUMER_PREFIX, StreamsConfig.MAIN_CONSUMER_PREFIX)) {
            configs.forEach((name, value) -> {
                if (name.startsWith(prefix + "optassign.")) {
                    lifted.put(name.substring(prefix.length()), value);
                }
            });
        }
        return lifted;
    }

    /**
     * Reads and checks a configuration inside a rebalance. A time-out that is too long for the session's is shortened,
     * as it does harm only where the service is slow. Unknown keys of optassign are left out: in a rolling upgrade the
     * configuration may be newer than the jar. Nothing is read from a disk.
     *
     * @throws ConfigException with the key, what was found and what is allowed
     */
    public static PluginConfig forRebalance(Map<String, ?> configs) {
        return new PluginConfig(configs);
    }

    /**
     * Reads and checks a configuration where the application starts, with the keys that Kafka Streams takes for
     * consumers. Unknown keys are left out, as {@link #forRebalance} does.
     *
     * @throws ConfigException with the key, what was found and what is allowed
     */
    public static PluginConfig forApplication(Map<String, ?> configs) {
        return new PluginConfig(liftPrefixes(configs));
    }

    /**
     * Makes the configuration of an application with a bad key of optassign and without a service: the planner answers
     * as if there were no key of optassign.
     *
     * @param problem the error of the bad key
     * @return null if a service is configured: then it is the service that should answer
     * @throws ConfigException if a key of Kafka is bad
     */
    public static PluginConfig withoutOwnKeys(Map<String, ?> configs, String problem) {
        if (configs.get(ConfigKeys.URL) != null) {
            return null;
        }
        Map<String, Object> others = new HashMap<>(configs);
        others.keySet().removeIf(name -> name.startsWith("optassign."));
        return new PluginConfig(others, problem + "; the planner answers as if no key of optassign were set");
    }

    /** Says which keys of optassign do not count, and why; empty if all do. */
    public String ignored() {
        return ignored;
    }

    /** Says why the time-out is shorter than was configured; empty: it is not. */
    public String shortened() {
        return shortened;
    }

    /** The unknown keys of optassign, sorted. */
    public List<String> unknown() {
        return unknown;
    }

    /** Says which keys do not exist, and which do. */
    public String describeUnknown() {
        return "Unknown configuration " + String.join(", ", unknown) + "; allowed: "
                + String.join(", ", new TreeSet<>(ConfigKeys.DEFINITION.names()));
    }

    /** Keys that say something to a service where there is none, sorted. */
    public List<String> unused() {
        return unused;
    }

    /** Says which keys need a service. */
    public String describeUnused() {
        return "Found " + String.join(", ", unused) + " without " + ConfigKeys.URL
                + "; allowed: with it, as only a service can do anything with it";
    }

    /** The application's name, which is found even where the rest of the configuration is bad. */
    public static String findApplication(Map<String, ?> configs) {
        Object name = configs.get(ConfigKeys.APPLICATION);
        if (name == null || name.toString().isBlank()) {
            name = configs.get(StreamsConfig.APPLICATION_ID_CONFIG);
        }
        return name == null || name.toString().isBlank()
                ? "unknown"
                : name.toString().strip();
    }

    /** Whether there is a service; otherwise the planner in this JVM answers. */
    public boolean hasService() {
        return assignUri != null;
    }

    @Override
    public URI assignUri() {
        return assignUri;
    }

    @Override
    public URI appliedUri() {
        return appliedUri;
    }

    @Override
    public URI progressUri() {
        return progressUri;
    }

    /** Offsets by which a copy may be behind and still counts as caught up. */
    public long acceptableRecoveryLag() {
        return acceptableRecoveryLag;
    }

    @Override
    public int timeoutMs() {
        return timeoutMs;
    }

    @Override
    public TokenSource token() {
        return token;
    }

    @Override
    public String userAgent() {
        return "optassign-streams/" + PluginVersion.VERSION;
    }

    String application() {
        return application;
    }

    @Override
    public Mode mode() {
        return mode;
    }

    /** The effective configuration, in words, for the log. */
    public String describe() {
        String service = hasService() ? "the service at " + assignUri : "the planner in this JVM";
        return "version=" + PluginVersion.VERSION + " mode=" + mode.name().toLowerCase(Locale.ROOT) + " asks "
                + service;
    }

    /** The assignor of the group in shadow mode, one of those of {@link ShadowChoice} or the name of a class. */
    public String shadowAssignor() {
        return shadowAssignor;
    }

    /** The error of a {@link #shadowAssignor} that cannot run. */
    public ConfigException shadowAssignorError(String allowed) {
        return new ConfigException(ConfigKeys.SHADOW_ASSIGNOR, shadowAssignor, allowed);
    }

    /** The snapshot's options for the service in addition to Kafka's own configuration. */
    public ServiceOptions options() {
        return options;
    }

    /**
     * Checks that the time-out is short enough. While the leader waits for an answer it does not poll, and every other
     * member waits for the leader in one request (SyncGroup): if that timed out, the member would join anew, and the
     * group would rebalance for ever. (The session's time-out is looked at apart: while the leader assigns it sends no
     * heartbeats, and whoever sends none for so long is no member any more, and joins anew.)
     */
    private static void checkTimeout(Map<String, ?> configs, int timeoutMs) {
        String poll = ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG;
        String request = ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG;
        int pollMs = readConsumerConfig(configs, poll, DEFAULT_MAX_POLL_INTERVAL_MS);
        int requestMs = readConsumerConfig(configs, request, DEFAULT_REQUEST_TIMEOUT_MS);
        int most = Math.min(pollMs / ClientPolicy.TIMEOUTS_PER_POLL, requestMs / ClientPolicy.TIMEOUTS_PER_REQUEST);
        if (timeoutMs > most) {
            throw new ConfigException(
                    ConfigKeys.TIMEOUT_MS,
                    timeoutMs,
                    "allowed: at most " + most + ", the lesser of a quarter of " + poll + " (" + pollMs
                            + ") and half of " + request + " (" + requestMs + ")");
        }
    }

    private static long readRecoveryLag(Map<String, ?> configs) {
        String key = StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG;
        Object lag = configs.get(key);
        return lag == null ? InputPolicy.ACCEPTABLE_LAG : (Long) ConfigDef.parseType(key, lag, Type.LONG);
    }

    /** Reads a configuration of the main consumer, which may have a prefix; the most special prefix counts. */
    private static int readConsumerConfig(Map<String, ?> configs, String name, int otherwise) {
        for (String key :
                new String[] {StreamsConfig.mainConsumerPrefix(name), StreamsConfig.consumerPrefix(name), name}) {
            if (configs.get(key) != null) {
                return (Integer) ConfigDef.parseType(key, configs.get(key), Type.INT);
            }
        }
        return otherwise;
    }
}
