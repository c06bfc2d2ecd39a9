package io.github.optassign.config;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.endpoint.PluginVersion;
import io.github.optassign.endpoint.ServiceUrl;
import io.github.optassign.endpoint.TokenSource;
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

/** The plug-in's configuration, read from an application's Streams configuration and checked. */
public final class PluginConfig implements Endpoint {
    /**
     * The least session time-out, as a multiple of the plug-in's time-out. The leader sends no heartbeats while it
     * assigns.
     */
    private static final double TIMEOUTS_PER_SESSION = 1.5;
    /**
     * The least maximum poll interval, as a multiple of the plug-in's time-out. A waiting leader does not poll, and has
     * other work.
     */
    private static final int TIMEOUTS_PER_POLL = 4;
    /**
     * The least request time-out, as a multiple of the plug-in's time-out. All members wait for the leader in one
     * request, and join again if it ends.
     */
    private static final int TIMEOUTS_PER_REQUEST = 2;

    private static final String POLL = ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG;
    private static final String REQUEST = ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG;
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

    /**
     * Reads and checks all keys of optassign.
     *
     * @param ignored the message that keys of optassign are ignored and why, or an empty text
     * @throws ConfigException if a value is invalid
     */
    private PluginConfig(Map<String, ?> configs, String ignored) {
        this.ignored = ignored;
        Map<String, Object> ownKeys = new TreeMap<>();
        configs.forEach((name, value) -> {
            if (name.startsWith("optassign.")) {
                ownKeys.put(name, value);
            }
        });
        TreeSet<String> others = new TreeSet<>(ownKeys.keySet());
        others.removeAll(ConfigKeys.DEFINITION.names());
        unknown = List.copyOf(others);
        Map<String, Object> parsed = ConfigKeys.DEFINITION.parse(ownKeys);
        String url = (String) parsed.get(ConfigKeys.URL);
        assignUri = ServiceUrl.page(url, "/v1/assign");
        appliedUri = ServiceUrl.page(url, "/v1/applied");
        progressUri = ServiceUrl.page(url, "/v1/progress");
        acceptableRecoveryLag = readRecoveryLag(configs);
        TreeSet<String> needService = new TreeSet<>(url == null ? ConfigKeys.SERVICE_ONLY : List.of());
        needService.retainAll(ownKeys.keySet());
        unused = List.copyOf(needService);
        int configuredMs = (Integer) parsed.get(ConfigKeys.TIMEOUT_MS);
        boolean isConfigured = ownKeys.containsKey(ConfigKeys.TIMEOUT_MS);
        if (!isConfigured) { // no error may blame a key that is not there
            configuredMs = Math.max(1, Math.min(configuredMs, findLongestTimeoutMs(configs)));
        }
        checkTimeout(configs, configuredMs);
        int sessionMs =
                readConsumerConfig(configs, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, DEFAULT_SESSION_TIMEOUT_MS);
        timeoutMs = Math.min(configuredMs, Math.max(1, (int) (sessionMs / TIMEOUTS_PER_SESSION)));
        shortened = timeoutMs == configuredMs || !isConfigured
                ? ""
                : ConfigKeys.TIMEOUT_MS + ": found " + configuredMs + "; allowed: at most " + timeoutMs
                        + ", two thirds of "
                        + ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG + " (" + sessionMs
                        + "): the leader sends no heartbeats while it waits";
        token = TokenSource.of((Password) parsed.get(ConfigKeys.TOKEN), (String) parsed.get(ConfigKeys.TOKEN_FILE));
        mode = Mode.valueOf(((String) parsed.get(ConfigKeys.MODE)).toUpperCase(Locale.ROOT));
        if (mode == Mode.SHADOW && url == null) {
            throw new ConfigException("Found " + ConfigKeys.MODE + "=shadow without " + ConfigKeys.URL
                    + "; allowed: both, since the service compares the answers");
        }
        shadowAssignor = (String) parsed.get(ConfigKeys.SHADOW_ASSIGNOR);
        application = findApplication(configs);
        ServiceOptions given = ServiceOptions.of(parsed);
        options = url == null ? given.withoutService() : given;
    }

    /**
     * Reads and checks a configuration at the start of an application. Refuses unknown keys of optassign, keys without
     * the service that they need, and a too long time-out. Reads the token's file.
     *
     * @param configs all configs of the application, Kafka's included, since the time-out depends on
     *     {@code max.poll.interval.ms}, {@code request.timeout.ms} and {@code session.timeout.ms}
     * @throws ConfigException if a value is invalid; names the key, the value and the allowed values
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
     * Returns the configs and, without its prefix, each key of optassign with a consumer prefix, as Kafka Streams does
     * for consumers. Applications use the prefix because Kafka passes keys without a prefix to all clients, each of
     * which logs that the keys "were supplied but are not used yet".
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
     * Reads and checks a configuration inside a rebalance. A time-out that is too long for the session's time-out is
     * shortened, since it does harm only if the service is slow. Unknown keys of optassign are ignored: in a rolling
     * upgrade the configuration may be newer than the jar. Reads no file.
     *
     * @throws ConfigException if a value is invalid; names the key, the value and the allowed values
     */
    public static PluginConfig forRebalance(Map<String, ?> configs) {
        return new PluginConfig(configs);
    }

    /**
     * Reads and checks a configuration outside a rebalance, including keys with a consumer prefix. Ignores unknown
     * keys, as {@link #forRebalance} does.
     *
     * @throws ConfigException if a value is invalid; names the key, the value and the allowed values
     */
    public static PluginConfig forApplication(Map<String, ?> configs) {
        return new PluginConfig(liftPrefixes(configs));
    }

    /**
     * Returns the configuration without optassign's keys, for an application without a service that has set one of them
     * to an invalid value. The planner then answers by the defaults.
     *
     * @param problem the error of the invalid key
     * @return null if a service is configured, since the service should answer then
     * @throws ConfigException if a key of Kafka is invalid
     */
    public static PluginConfig withoutOwnKeys(Map<String, ?> configs, String problem) {
        if (configs.get(ConfigKeys.URL) != null) {
            return null;
        }
        Map<String, Object> others = new HashMap<>(configs);
        others.keySet().removeIf(name -> name.startsWith("optassign."));
        return new PluginConfig(others, problem + "; the planner answers as if no key of optassign were set");
    }

    /** Returns the message that keys of optassign are ignored and why, or an empty text if no key is ignored. */
    public String ignored() {
        return ignored;
    }

    /** Returns the message that the time-out is shorter than configured, or an empty text if it is as configured. */
    public String shortened() {
        return shortened;
    }

    /** Returns the unknown keys of optassign, sorted. */
    public List<String> unknown() {
        return unknown;
    }

    /** Returns the error message for unknown keys, with the list of known keys. */
    public String describeUnknown() {
        return "Unknown configuration " + String.join(", ", unknown) + "; allowed: "
                + String.join(", ", new TreeSet<>(ConfigKeys.DEFINITION.names()));
    }

    /** Returns the configured keys that only a service uses, sorted; empty if a service is configured. */
    public List<String> unused() {
        return unused;
    }

    /** Returns the error message for keys that only a service uses. */
    public String describeUnused() {
        return "Found " + String.join(", ", unused) + " without " + ConfigKeys.URL
                + "; allowed: both, since only the service uses these keys";
    }

    /** Returns the application's name, or "unknown". Works even if the rest of the configuration is invalid. */
    public static String findApplication(Map<String, ?> configs) {
        Object name = configs.get(ConfigKeys.APPLICATION);
        if (name == null || name.toString().isBlank()) {
            name = configs.get(StreamsConfig.APPLICATION_ID_CONFIG);
        }
        return name == null || name.toString().isBlank()
                ? "unknown"
                : name.toString().strip();
    }

    /** Returns whether a service is configured; otherwise the planner in this JVM answers. */
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

    /** Returns the lag up to which a copy counts as caught up, offsets: {@code acceptable.recovery.lag}. */
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

    /** Returns the application's name, or "unknown". */
    public String application() {
        return application;
    }

    @Override
    public Mode mode() {
        return mode;
    }

    /** Describes the effective configuration for the log. */
    public String describe() {
        String service = hasService() ? "the service at " + assignUri : "the planner in this JVM";
        return "version=" + PluginVersion.VERSION + " mode=" + mode.name().toLowerCase(Locale.ROOT) + " asks "
                + service;
    }

    /** Returns the assignor of the group in shadow mode: a name of {@link ShadowChoice} or of a class. */
    public String shadowAssignor() {
        return shadowAssignor;
    }

    /** Creates the exception for a {@link #shadowAssignor} that cannot run. */
    public ConfigException shadowAssignorError(String allowed) {
        return new ConfigException(ConfigKeys.SHADOW_ASSIGNOR, shadowAssignor, allowed);
    }

    /** Returns the options that the snapshot has in addition to Kafka's own configuration. */
    public ServiceOptions options() {
        return options;
    }

    /**
     * Checks the time-out against {@code max.poll.interval.ms} and {@code request.timeout.ms}. The leader does not poll
     * while it waits for an answer, and every other member waits for the leader in one SyncGroup request. If that
     * request timed out, the member would join anew, and the group would rebalance for ever. The constructor compares
     * the time-out with {@code session.timeout.ms}, since the leader sends no heartbeats while it assigns.
     */
    private static void checkTimeout(Map<String, ?> configs, int timeoutMs) {
        int limitMs = findLongestTimeoutMs(configs);
        if (timeoutMs > limitMs) {
            throw new ConfigException(
                    ConfigKeys.TIMEOUT_MS,
                    timeoutMs,
                    "allowed: at most " + limitMs + ", the lesser of a quarter of " + POLL + " (" + readPollMs(configs)
                            + ") and half of " + REQUEST + " (" + readRequestMs(configs) + ")");
        }
    }

    private static int findLongestTimeoutMs(Map<String, ?> configs) {
        return Math.min(readPollMs(configs) / TIMEOUTS_PER_POLL, readRequestMs(configs) / TIMEOUTS_PER_REQUEST);
    }

    private static int readPollMs(Map<String, ?> configs) {
        return readConsumerConfig(configs, POLL, DEFAULT_MAX_POLL_INTERVAL_MS);
    }

    private static int readRequestMs(Map<String, ?> configs) {
        return readConsumerConfig(configs, REQUEST, DEFAULT_REQUEST_TIMEOUT_MS);
    }

    private static long readRecoveryLag(Map<String, ?> configs) {
        String key = StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG;
        Object lag = configs.get(key);
        return lag == null ? InputPolicy.ACCEPTABLE_LAG : (Long) ConfigDef.parseType(key, lag, Type.LONG);
    }

    /** Reads a configuration of the main consumer. The key with the most specific prefix takes precedence. */
    private static int readConsumerConfig(Map<String, ?> configs, String name, int defaultValue) {
        for (String key :
                new String[] {StreamsConfig.mainConsumerPrefix(name), StreamsConfig.consumerPrefix(name), name}) {
            if (configs.get(key) != null) {
                return (Integer) ConfigDef.parseType(key, configs.get(key), Type.INT);
            }
        }
        return defaultValue;
    }
}
