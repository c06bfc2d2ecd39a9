package io.github.optassign.config;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.streams.StreamsConfig;

/** Reads the plug-in's configuration from an application's Streams configuration, and checks it. */
public final class PluginConfig {
    static final String URL = "optassign.url";
    static final String TIMEOUT_MS = "optassign.timeout.ms";
    static final String TOKEN = "optassign.token";
    static final String TOKEN_FILE = "optassign.token.file";
    static final String APPLICATION = "optassign.application";
    static final String MODE = "optassign.mode";
    public static final String SHADOW_ASSIGNOR = "optassign.shadow.assignor";

    /** The first call takes up to 50 ms in the plug-in and as much in the service: a shorter time-out could end it. */
    static final int LEAST_TIMEOUT_MS = 200;

    static final int DEFAULT_TIMEOUT_MS = 2_000;
    static final int GREATEST_TIMEOUT_MS = 60_000;

    /** What is done with the service's answers. */
    public enum Mode {
        /** The service's answers are applied. */
        ACTIVE,
        /** The group is run as it would be without us, and the service told what was applied. */
        SHADOW
    }

    static final ConfigDef DEFINITION = new ConfigDef()
            .define(
                    URL,
                    Type.STRING,
                    ConfigDef.NO_DEFAULT_VALUE,
                    ConfigDef.LambdaValidator.with(
                            PluginConfig::checkUrl, () -> "http://host:port or https://host:port, path allowed"),
                    Importance.HIGH,
                    "Where the optassign service listens, without /v1/assign.")
            .define(
                    TIMEOUT_MS,
                    Type.INT,
                    DEFAULT_TIMEOUT_MS,
                    ConfigDef.Range.between(LEAST_TIMEOUT_MS, GREATEST_TIMEOUT_MS),
                    Importance.MEDIUM,
                    "Milliseconds from the start of an assignment until the fallback answers instead of the service. "
                            + "The group leader's thread waits that long, and each of the others for it in one "
                            + "request, so at most a quarter of max.poll.interval.ms and half of request.timeout.ms "
                            + "is allowed.")
            .define(
                    TOKEN,
                    Type.PASSWORD,
                    null,
                    Importance.MEDIUM,
                    "The service's token, where it has one. Never logged.")
            .define(
                    TOKEN_FILE,
                    Type.STRING,
                    null,
                    Importance.MEDIUM,
                    "A file of at most 64 KiB that holds the token, instead of " + TOKEN
                            + ". It is read in every rebalance, so the token may change.")
            .define(
                    APPLICATION,
                    Type.STRING,
                    null,
                    ConfigDef.LambdaValidator.with(PluginConfig::checkApplication, () -> "not empty"),
                    Importance.LOW,
                    "The application's name towards the service; default: application.id.")
            .define(
                    MODE,
                    Type.STRING,
                    "active",
                    ConfigDef.ValidString.in("active", "shadow"),
                    Importance.MEDIUM,
                    "active: the service's answers are applied. shadow: the group is run by " + SHADOW_ASSIGNOR
                            + ", and the service is told afterwards, which compares and records.")
            .define(
                    SHADOW_ASSIGNOR,
                    Type.STRING,
                    ShadowChoice.DEFAULT,
                    ConfigDef.LambdaValidator.with(ShadowChoice::check, () -> ShadowChoice.ALLOWED),
                    Importance.LOW,
                    "Who runs the group in shadow mode: " + ShadowChoice.ALLOWED + ".");

    /** What a bearer token is made of (RFC 6750, section 2.1). Anything else would not survive in a header. */
    private static final Pattern TOKEN_TEXT = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

    private static final int DEFAULT_MAX_POLL_INTERVAL_MS = 300_000;
    private static final int DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
    private static final int GREATEST_TOKEN_FILE = 64 * 1024;

    private final URI assignUri;
    private final URI appliedUri;
    private final int timeoutMs;
    private final Password token;
    private final String application;
    private final Mode mode;
    private final String shadowAssignor;

    private PluginConfig(Map<String, ?> configs) {
        Map<String, Object> ours = new TreeMap<>();
        configs.forEach((name, value) -> {
            if (name.startsWith("optassign.")) {
                ours.put(name, value);
            }
        });
        TreeSet<String> unknown = new TreeSet<>(ours.keySet());
        unknown.removeAll(DEFINITION.names());
        if (!unknown.isEmpty()) {
            throw new ConfigException("Unknown configuration " + String.join(", ", unknown) + "; allowed: "
                    + String.join(", ", new TreeSet<>(DEFINITION.names())));
        }
        Map<String, Object> parsed = DEFINITION.parse(ours);
        String url = (String) parsed.get(URL);
        String base = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
        assignUri = URI.create(base + "/v1/assign");
        appliedUri = URI.create(base + "/v1/applied");
        timeoutMs = (Integer) parsed.get(TIMEOUT_MS);
        checkTimeout(configs);
        token = readToken((Password) parsed.get(TOKEN), (String) parsed.get(TOKEN_FILE));
        mode = Mode.valueOf(((String) parsed.get(MODE)).toUpperCase(Locale.ROOT));
        shadowAssignor = (String) parsed.get(SHADOW_ASSIGNOR);
        application = findApplication(configs);
    }

    /**
     * Reads and checks a configuration.
     *
     * @param configs all configs of the application: ours, {@code application.id}, {@code max.poll.interval.ms},
     *     {@code request.timeout.ms}
     * @throws ConfigException with the key, what was found and what is allowed
     */
    public static PluginConfig of(Map<String, ?> configs) {
        return new PluginConfig(configs);
    }

    /** The application's name, which is found even where the rest of the configuration is bad. */
    public static String findApplication(Map<String, ?> configs) {
        Object name = configs.get(APPLICATION);
        if (name == null || name.toString().isBlank()) {
            name = configs.get(StreamsConfig.APPLICATION_ID_CONFIG);
        }
        return name == null || name.toString().isBlank()
                ? "unknown"
                : name.toString().strip();
    }

    public URI assignUri() {
        return assignUri;
    }

    public URI appliedUri() {
        return appliedUri;
    }

    public int timeoutMs() {
        return timeoutMs;
    }

    /** The service's token; null: none. {@link Password#toString} hides it. */
    public Password token() {
        return token;
    }

    String application() {
        return application;
    }

    public Mode mode() {
        return mode;
    }

    /** Who runs the group in shadow mode, one of those of {@link ShadowChoice} or the name of a class. */
    public String shadowAssignor() {
        return shadowAssignor;
    }

    private static void checkUrl(String name, Object value) {
        String url = (String) value;
        if (url == null) {
            throw new ConfigException(name, null, "allowed: http://host:port or https://host:port");
        }
        URI uri;
        try {
            uri = new URI(url);
        } catch (URISyntaxException e) {
            throw new ConfigException(name, hidePassword(url), "allowed: http://host:port or https://host:port");
        }
        if (uri.getRawUserInfo() != null) {
            throw new ConfigException(name, "[hidden]", "allowed: no user or password; use " + TOKEN);
        }
        boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
        if (!http || uri.getHost() == null || uri.getPort() > 65_535 || uri.getPort() == 0) {
            throw new ConfigException(name, hidePassword(url), "allowed: http://host:port or https://host:port");
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw new ConfigException(name, hidePassword(url), "allowed: no query and no fragment");
        }
    }

    /** Makes a bad URL fit for a log: what stands before an at sign may be a password, even where this is no URL. */
    private static String hidePassword(String url) {
        int at = url.lastIndexOf('@');
        int slashes = url.indexOf("//");
        String scheme = slashes >= 0 && slashes < at ? url.substring(0, slashes + 2) : "";
        return at < 0 ? url : scheme + "[hidden]" + url.substring(at);
    }

    private static void checkApplication(String name, Object value) {
        if (value != null && ((String) value).isBlank()) {
            throw new ConfigException(name, value, "allowed: not empty");
        }
    }

    private static Password readToken(Password given, String file) {
        if (file == null) {
            return given == null ? null : checkToken(TOKEN, given.value());
        }
        if (given != null) {
            throw new ConfigException("Both " + TOKEN + " and " + TOKEN_FILE + " are set; allowed: one of them");
        }
        try {
            return checkToken(TOKEN_FILE, readTokenFile(Path.of(file)));
        } catch (IOException | InvalidPathException e) {
            throw tokenFileError(file, e.toString());
        }
    }

    /** Reads a regular file only: a pipe or a device could block or never end, and this happens in every rebalance. */
    private static String readTokenFile(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw tokenFileError(file, Files.exists(file) ? "another kind" : "none");
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(GREATEST_TOKEN_FILE + 1);
            if (bytes.length > GREATEST_TOKEN_FILE) {
                throw tokenFileError(file, "a longer one");
            }
            return new String(bytes, StandardCharsets.UTF_8).strip();
        }
    }

    private static ConfigException tokenFileError(Object file, String found) {
        return new ConfigException(
                TOKEN_FILE,
                file,
                "allowed: a readable regular file of at most " + GREATEST_TOKEN_FILE + " bytes; found " + found);
    }

    private static Password checkToken(String name, String token) {
        if (!TOKEN_TEXT.matcher(token).matches()) {
            throw new ConfigException(
                    name, "[hidden]", "allowed: a token of letters, digits and -._~+/ , at its end =");
        }
        return new Password(token);
    }

    /**
     * Checks that the time-out is short enough. While the leader waits for an answer it does not poll, and every other
     * member waits for the leader in one request (SyncGroup): if that timed out, the member would join anew, and the
     * group would rebalance for ever.
     */
    private void checkTimeout(Map<String, ?> configs) {
        String poll = ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG;
        String request = ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG;
        int pollMs = readConsumerConfig(configs, poll, DEFAULT_MAX_POLL_INTERVAL_MS);
        int requestMs = readConsumerConfig(configs, request, DEFAULT_REQUEST_TIMEOUT_MS);
        int most = Math.min(pollMs / 4, requestMs / 2);
        if (timeoutMs > most) {
            throw new ConfigException(
                    TIMEOUT_MS,
                    timeoutMs,
                    "allowed: at most " + most + ", the lesser of a quarter of " + poll + " (" + pollMs
                            + ") and half of " + request + " (" + requestMs + ")");
        }
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
