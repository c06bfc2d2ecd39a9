package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Defaults, limits, and messages that name the key, what was found and what is allowed. */
class PluginConfigTest {
    private static Map<String, Object> with(String key, Object value) {
        Map<String, Object> configs = new HashMap<>(Map.of("application.id", "orders", "optassign.url", "http://host:8080"));
        configs.put(key, value);
        return configs;
    }

    @Test
    void defaults() {
        PluginConfig config = PluginConfig.of(with("bootstrap.servers", "x"));
        assertEquals("http://host:8080/v1/assign", config.assignUri().toString());
        assertEquals(2_000, config.timeoutMs());
        assertNull(config.token());
        assertEquals("orders", config.application());
        assertEquals(PluginConfig.Mode.ACTIVE, config.mode());
    }

    @Test
    void urlMayHaveAPath() {
        PluginConfig config = PluginConfig.of(with("optassign.url", "https://host/a/"));
        assertEquals("https://host/a/v1/assign", config.assignUri().toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "optassign.url | ftp://host | allowed: http://host:port or https://host:port",
        "optassign.url | host:8080 | allowed: http://host:port or https://host:port",
        "optassign.url | http:// | allowed: http://host:port or https://host:port",
        "optassign.url | http://ho st | allowed: http://host:port or https://host:port",
        "optassign.url | http://host:70000 | allowed: http://host:port or https://host:port",
        "optassign.url | http://a:b@host | Invalid value [hidden] for configuration optassign.url: allowed: no user",
        "optassign.url | http://host?a=b | allowed: no query and no fragment",
        "optassign.timeout.ms | 199 | Invalid value 199 for configuration optassign.timeout.ms: Value must be at least 200",
        "optassign.timeout.ms | 60001 | no more than 60000",
        "optassign.timeout.ms | soon | Not a number of type INT",
        "optassign.mode | off | String must be one of: active, shadow",
        "optassign.token | a b | Invalid value [hidden] for configuration optassign.token: allowed: a token of",
        "optassign.token.file | /no/such/file | Invalid value /no/such/file for configuration optassign.token.file: allowed",
        "optassign.application | '' | allowed: not empty",
        "optassign.timout.ms | 300 | Unknown configuration optassign.timout.ms; allowed: optassign.application, optassign.mode",
    })
    void badValues(String key, String value, String message) {
        ConfigException e = assertThrows(ConfigException.class, () -> PluginConfig.of(with(key, value)));
        assertTrue(e.getMessage().contains(message), e.getMessage());
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(with(key, value)));
    }

    @Test
    void urlIsRequired() {
        ConfigException e = assertThrows(ConfigException.class, () -> PluginConfig.of(Map.of("application.id", "orders")));
        assertTrue(e.getMessage().contains("Missing required configuration \"optassign.url\""), e.getMessage());
    }

    @Test
    void tokenAndItsFileExclude() {
        Map<String, Object> configs = with("optassign.token", "a");
        configs.put("optassign.token.file", Path.of("token").toString());
        ConfigException e = assertThrows(ConfigException.class, () -> PluginConfig.of(configs));
        assertEquals("Both optassign.token and optassign.token.file are set; allowed: one of them", e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"max.poll.interval.ms", "consumer.max.poll.interval.ms", "main.consumer.max.poll.interval.ms"})
    void timeoutIsFarBelowMaxPollInterval(String key) {
        Map<String, Object> configs = with("optassign.timeout.ms", 2_001);
        configs.put(key, "8000");
        ConfigException e = assertThrows(ConfigException.class, () -> PluginConfig.of(configs));
        assertTrue(e.getMessage().contains("allowed: at most 2000, a quarter of max.poll.interval.ms"), e.getMessage());
        configs.put("optassign.timeout.ms", 2_000);
        assertEquals(2_000, PluginConfig.of(configs).timeoutMs());
    }

    @Test
    void streamsProtocolIgnoresAssignors() {
        ConfigException e = assertThrows(ConfigException.class,
            () -> OptassignTaskAssignor.check(with("group.protocol", "streams")));
        assertTrue(e.getMessage().contains("allowed: classic"), e.getMessage());
        OptassignTaskAssignor.check(with("group.protocol", "classic"));
    }

    @Test
    void everyKeyIsDocumented() {
        PluginConfig.DEFINITION.configKeys().values().forEach(key -> assertTrue(key.documentation.length() > 20, key.name));
    }
}
