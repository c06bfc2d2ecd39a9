package io.github.optassign.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.OptassignTaskAssignor;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.model.Timing;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Defaults and limits of the configuration, and messages that name the key, the value and the allowed values. */
class PluginConfigTest {
    private static Map<String, Object> with(String key, Object value) {
        Map<String, Object> configs =
                new HashMap<>(Map.of("application.id", "orders", "optassign.url", "http://host:8080"));
        configs.put("task.assignor.class", "io.github.optassign.OptassignTaskAssignor");
        configs.put(key, value);
        return configs;
    }

    /** Asserts that the plug-in refuses a configuration with a message that contains a text. */
    private static void assertRefused(String message, Map<String, Object> configs) {
        assertRefused(message, () -> PluginConfig.of(configs));
    }

    private static void assertRefused(String message, Executable read) {
        ConfigException e = assertThrows(ConfigException.class, read);
        assertTrue(e.getMessage().contains(message), e.getMessage());
    }

    @Test
    void defaults() throws Exception {
        PluginConfig config = PluginConfig.of(with("bootstrap.servers", "x"));
        assertEquals("http://host:8080/v1/assign", config.assignUri().toString());
        assertEquals(2_000, config.timeoutMs());
        assertNull(config.token().read(System.nanoTime()));
        assertEquals("orders", config.application());
        assertEquals(Mode.ACTIVE, config.mode());
        assertEquals("kafka-high-availability", config.shadowAssignor());
        assertEquals("http://host:8080/v1/applied", config.appliedUri().toString());
    }

    @Test
    void urlMayHaveAPath() {
        PluginConfig config = PluginConfig.of(with("optassign.url", "https://host/a/"));
        assertEquals("https://host/a/v1/assign", config.assignUri().toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            optassign.url | '' | allowed: http://host:port or https://host:port
            optassign.url | ftp://host | allowed: http://host:port or https://host:port
            optassign.url | host:8080 | allowed: http://host:port or https://host:port
            optassign.url | http:// | allowed: http://host:port or https://host:port
            optassign.url | http://ho st | allowed: http://host:port or https://host:port
            optassign.url | http://host:70000 | allowed: http://host:port or https://host:port
            optassign.url | http://a:b@host | Invalid value [hidden] for configuration optassign.url: allowed: no user
            optassign.url | http://host?a=b | allowed: no query and no fragment
            optassign.timeout.ms | 199 | Invalid value 199 for configuration optassign.timeout.ms: Value must be at least 200
            optassign.timeout.ms | 60001 | no more than 60000
            optassign.timeout.ms | soon | Not a number of type INT
            optassign.mode | off | String must be one of: active, shadow
            optassign.shadow.assignor | kafka | allowed: kafka-high-availability, kafka-sticky, fallback, or the name of a
            optassign.shadow.assignor | no.such.Assignor | found java.lang.ClassNotFoundException: no.such.Assignor
            optassign.shadow.assignor | java.lang.String | found java.lang.ClassCastException
            optassign.shadow.assignor | io.github.optassign.OptassignTaskAssignor | allowed: kafka-high-availability
            optassign.token | a b | Invalid value [hidden] for configuration optassign.token: allowed: a token of
            optassign.token.file | /no/such/file | Invalid value /no/such/file for configuration optassign.token.file: allowed
            optassign.application | '' | allowed: not empty
            optassign.weights | 0 | allowed: a list such as 0:2.5,1_3:4, each once, above 0 and at most 1e9
            optassign.weights | 0:1,0:2 | each once
            optassign.weights | 0:-1 | above 0
            optassign.weights | 0:NaN | above 0
            optassign.weights | rate | in it, rates or changelog
            optassign.weights | rates,changelog | in it, rates or changelog
            optassign.followup | soon | allowed: estimate, interval
            optassign.idle.followup.ms | 999 | allowed: 0, or 1000 or more
            optassign.idle.followup.ms | -1 | allowed: 0, or 1000 or more
            optassign.offload | on | allowed: off, or a list such as stateless:60,logged:300, each once, seconds from 0 to 1e9
            optassign.offload | '' | allowed: off, or a list
            optassign.offload | off,logged:1 | allowed: off, or a list
            optassign.offload | logged:1,logged:2 | each once
            optassign.offload | logged:-1 | seconds from 0 to 1e9
            optassign.offload | logged:1000000001 | seconds from 0 to 1e9
            optassign.options.preset | best | allowed: lexicographic, weighted
            optassign.options.goals | active_migrations,active_migrations | allowed: names of goals, each once
            optassign.options.balance.factor | 0 | allowed: 1 or more
            optassign.options.load.tolerance | -0.1 | allowed: from 0 to 10
            optassign.options.load.tolerance | NaN | allowed: from 0 to 10
            optassign.options.standby.load | 1.1 | allowed: from 0 to 1
            optassign.options.min.gain | 11 | allowed: from 0 to 10
            optassign.options.weights.stickiness | -1 | allowed: 0 or more
            optassign.timout.ms | 300 | Unknown configuration optassign.timout.ms; allowed: optassign.application
            """)
    void badValues(String key, String value, String message) {
        assertRefused(message, with(key, value));
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(with(key, value)));
    }

    /** Values that Kafka would refuse at its start: of a single key, and a tag key without a {@code client.tag}. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            max.warmup.replicas | 0 | max.warmup.replicas: Value must be at least 1
            acceptable.recovery.lag | -1 | acceptable.recovery.lag: Value must be at least 0
            probing.rebalance.interval.ms | 59999 | probing.rebalance.interval.ms: Value must be at least 60000
            num.standby.replicas | one | Not a number of type INT
            rack.aware.assignment.strategy | best | rack.aware.assignment.strategy
            rack.aware.assignment.tags | zone | rack.aware.assignment.tags
            """)
    void valuesThatKafkaRefuses(String key, String value, String message) {
        assertRefused(message, () -> OptassignTaskAssignor.check(with(key, value)));
        assertThrows(ConfigException.class, () -> new StreamsConfig(with("bootstrap.servers", "x", key, value)));
    }

    private static Map<String, Object> with(String key, Object value, String other, Object otherValue) {
        Map<String, Object> configs = with(key, value);
        configs.put(other, otherValue);
        return configs;
    }

    private static Map<String, Object> withoutUrl(String key, Object value) {
        Map<String, Object> configs = with(key, value);
        configs.remove("optassign.url");
        return configs;
    }

    @Test
    void urlIsOptional() {
        Map<String, Object> configs = withoutUrl("optassign.followup", "interval");
        configs.put("optassign.application", "orders-eu");
        configs.put("optassign.offload", "logged:900");
        OptassignTaskAssignor.check(configs);
        PluginConfig config = PluginConfig.of(configs);
        assertFalse(config.hasService());
        assertTrue(config.options().isFollowupByInterval());
        assertEquals(new Timing.Prices(60, 900), config.options().offloadPrices());
    }

    @Test
    void loadIsBalancedWithoutAServiceToo() {
        Map<String, Object> configs = new HashMap<>(withoutUrl("optassign.weights", "rates,0:2"));
        configs.put("optassign.options.min.gain", "0.1");
        configs.put("optassign.options.load.tolerance", "0.2");
        ServiceOptions options = PluginConfig.of(configs).options();
        assertTrue(options.isWeighedByRates());
        assertEquals(2.0, options.weight("0_1"));
        assertEquals(Map.of("min_gain", 0.1, "load_tolerance", 0.2), options.loadOptions());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            optassign.token | a
            optassign.token.file | /no/such/file
            optassign.options.preset | weighted
            optassign.options.goals | active_migrations
            optassign.options.balance.factor | 2
            optassign.options.standby.load | 0.5
            """)
    void keysThatOnlyAServiceUsesAreRefusedWithoutAService(String key, String value) {
        assertRefused(
                "Found " + key + " without optassign.url; allowed: both, since only the service uses these keys",
                withoutUrl(key, value));
        PluginConfig config = PluginConfig.forRebalance(withoutUrl(key, value));
        assertEquals(List.of(key), config.unused());
        assertFalse(config.options().isAnyOptionSet());
        assertFalse(config.options().isBalanceLoose());
    }

    @Test
    void shadowModeNeedsAService() {
        for (Executable read : List.<Executable>of(
                () -> PluginConfig.of(withoutUrl("optassign.mode", "shadow")),
                () -> PluginConfig.forRebalance(withoutUrl("optassign.mode", "shadow")),
                () -> OptassignTaskAssignor.check(withoutUrl("optassign.mode", "shadow")))) {
            assertRefused(
                    "Found optassign.mode=shadow without optassign.url; allowed: both, since the service compares the answers",
                    read);
        }
    }

    @Test
    void tokenAndItsFileExclude() {
        Map<String, Object> configs = with("optassign.token", "a");
        configs.put("optassign.token.file", Path.of("token").toString());
        assertRefused("Both optassign.token and optassign.token.file are set; allowed: one of them", configs);
    }

    /** The part of an invalid URL that may be a password is not logged. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://user:s3cret word@host",
                "http://user:s3cret@ho_st:8080",
                "http://user:s3/cret@host",
                "user:s3cret@host:8080",
                "ftp://user:s3cret@host",
                "http://user:s3cret@host:70000",
                "http://s3cret@ho_st@host?a=b",
                "//user:s3cret@",
                "s3cret@",
                "http://user:s3cret@host",
                "http://host/s3cret@host#",
            })
    void passwordsInBadUrlsAreHidden(String url) {
        ConfigException e = assertThrows(ConfigException.class, () -> PluginConfig.of(with("optassign.url", url)));
        assertFalse(e.getMessage().contains("s3") || e.getMessage().contains("cret"), e.getMessage());
        assertTrue(e.getMessage().contains("[hidden]"), e.getMessage());
    }

    @Test
    void restOfABadUrlIsShown() {
        assertRefused(
                "Invalid value http://[hidden]@ho_st:8080/a for",
                with("optassign.url", "http://user:s3cret@ho_st:8080/a"));
    }

    /** A pipe without a writer would block the leader's thread for ever. */
    @Test
    void tokenFileIsARegularFile(@TempDir Path folder) throws Exception {
        Path pipe = folder.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        for (Path path : new Path[] {pipe, folder}) {
            assertTimeoutPreemptively(
                    Duration.ofMinutes(1),
                    () -> assertRefused(
                            "allowed: a readable regular file of at most 65536 bytes; found another kind",
                            with("optassign.token.file", path.toString())));
        }
        // A link to a regular file is allowed: this is how Kubernetes mounts secrets.
        Path file = Files.writeString(folder.resolve("file"), "a-token\n");
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        assertEquals("a-token", readToken(link));
    }

    private static String readToken(Path file) throws Exception {
        PluginConfig config = PluginConfig.of(with("optassign.token.file", file.toString()));
        return config.token().read(System.nanoTime() + 60_000_000_000L).value();
    }

    @Test
    void tokenFileIsRead64KibibytesOfAtMost(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("token"), "t".repeat(65_536));
        assertEquals(65_536, readToken(file).length());
        Files.writeString(file, "t".repeat(65_537));
        assertRefused("of at most 65536 bytes; found a longer one", with("optassign.token.file", file.toString()));
    }

    /**
     * The leader sends no heartbeats while it assigns. If it waits longer than its session, it is removed from the
     * group.
     */
    @ParameterizedTest
    @CsvSource({"session.timeout.ms", "consumer.session.timeout.ms", "main.consumer.session.timeout.ms"})
    void timeoutIsShortenedToTheSessions(String key) {
        Map<String, Object> configs = with(key, "6000");
        assertEquals(2_000, PluginConfig.of(configs).timeoutMs());
        configs.put("optassign.timeout.ms", "9000");
        PluginConfig config = PluginConfig.forRebalance(configs);
        assertEquals(4_000, config.timeoutMs());
        assertTrue(config.shortened().contains("found 9000; allowed: at most 4000, two thirds of session.timeout.ms"));
        assertThrows(ConfigException.class, () -> PluginConfig.of(configs));
    }

    @ParameterizedTest
    @CsvSource({"max.poll.interval.ms", "consumer.max.poll.interval.ms", "main.consumer.max.poll.interval.ms"})
    void timeoutIsFarBelowMaxPollInterval(String key) {
        Map<String, Object> configs = with("optassign.timeout.ms", 2_001);
        configs.put(key, "8000");
        assertRefused(
                "allowed: at most 2000, the lesser of a quarter of max.poll.interval.ms (8000) and half of "
                        + "request.timeout.ms (30000)",
                configs);
        configs.put("optassign.timeout.ms", 2_000);
        assertEquals(2_000, PluginConfig.of(configs).timeoutMs());
    }

    /** No error blames a time-out that is not set. */
    @ParameterizedTest
    @CsvSource({"max.poll.interval.ms,6000,1500", "request.timeout.ms,3000,1500", "session.timeout.ms,2400,1600"})
    void defaultTimeoutIsShortenedToAllLimits(String key, String value, int allowed) {
        PluginConfig config = PluginConfig.of(with(key, value));
        assertEquals(allowed, config.timeoutMs());
        assertEquals("", config.shortened());
    }

    /** The other members wait for the leader in one request; if that timed out, the group would rebalance for ever. */
    @ParameterizedTest
    @CsvSource({"request.timeout.ms", "consumer.request.timeout.ms", "main.consumer.request.timeout.ms"})
    void timeoutIsFarBelowTheRequestTimeout(String key) {
        Map<String, Object> configs = with("optassign.timeout.ms", 15_001);
        assertRefused(
                "Invalid value 15001 for configuration optassign.timeout.ms: allowed: at most 15000, the lesser of a "
                        + "quarter of max.poll.interval.ms (300000) and half of request.timeout.ms (30000)",
                configs);
        configs.put(key, "30002");
        assertEquals(15_001, PluginConfig.of(configs).timeoutMs());
        configs.put("request.timeout.ms", "30002");
        configs.put(key, 30_001);
        assertThrows(ConfigException.class, () -> PluginConfig.of(configs), "the most special key counts");
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(configs));
    }

    @Test
    void streamsProtocolIgnoresAssignors() {
        assertRefused("allowed: classic", () -> OptassignTaskAssignor.check(with("group.protocol", "streams")));
        OptassignTaskAssignor.check(with("group.protocol", "classic"));
    }

    /** Without this key Kafka would assign by itself, and the plug-in would not be called. */
    @Test
    void assignorHasToBeThisOne() {
        Map<String, Object> configs = with("task.assignor.class", null);
        assertRefused(
                "Invalid value for configuration task.assignor.class: found nothing, so Kafka's default would assign; "
                        + "allowed: the text io.github.optassign.OptassignTaskAssignor",
                () -> OptassignTaskAssignor.check(configs));
        configs.remove("task.assignor.class");
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(configs));
        for (Object other : new Object[] {
            "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
            "io.github.optassign.OptassignTaskAssignor ", // Kafka would not find such a class
            OptassignTaskAssignor.class, // Kafka refuses a class in place of its name
        }) {
            configs.put("task.assignor.class", other);
            assertRefused("task.assignor.class: found " + other, () -> OptassignTaskAssignor.check(configs));
        }
    }

    @Test
    void kafkasDefaultCanBeCalledInShadowMode() {
        OptassignTaskAssignor.check(with("optassign.mode", "shadow"));
    }

    /** Applications usually configure Kafka Streams by Properties. */
    @Test
    void propertiesCanBeChecked() {
        Properties properties = new Properties();
        properties.put("application.id", "orders");
        properties.put("optassign.url", "http://host:8080");
        properties.put("task.assignor.class", "io.github.optassign.OptassignTaskAssignor");
        OptassignTaskAssignor.check(properties);
        properties.put("optassign.timeout.ms", "5");
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(properties));
        properties.remove("optassign.timeout.ms");
        properties.put(7, "seven");
        assertRefused("Found the key 7; allowed: texts", () -> OptassignTaskAssignor.check(properties));
    }

    @Test
    void everyKeyIsDocumented() {
        ConfigKeys.DEFINITION
                .configKeys()
                .values()
                .forEach(key -> assertTrue(key.documentation.length() > 20, key.name));
    }
}
