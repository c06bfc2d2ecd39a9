package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Values read from the broker's configs, and remarks on invalid values. */
class BrokerConfigTest {
    @Test
    void defaults() {
        assertEquals(BrokerConfig.DEFAULT, BrokerConfig.read(Map.of("broker.id", "1")));
    }

    @Test
    void ownKeysPrecedeKafkasAndThosePrecedeDefaults() {
        BrokerConfig kafkas = BrokerConfig.read(
                Map.of("group.streams.num.warmup.replicas", "7", "group.streams.acceptable.recovery.lag", "500"));
        assertEquals(7, kafkas.maxWarmups());
        assertEquals(500, kafkas.acceptableLag());
        BrokerConfig own = BrokerConfig.read(Map.of(
                "group.streams.num.warmup.replicas",
                7,
                "optassign.max.warmup.replicas",
                " 9 ",
                "optassign.acceptable.recovery.lag",
                0L,
                "optassign.warmups",
                "FALSE"));
        assertEquals(9, own.maxWarmups());
        assertEquals(0, own.acceptableLag());
        assertFalse(own.isWarmingUp());
    }

    @Test
    void tasksAreWeighedByTheirChangelogsIfConfigured() {
        assertFalse(BrokerConfig.read(Map.of()).isWeighedByChangelog());
        assertTrue(BrokerConfig.read(Map.of("optassign.weights", "changelog")).isWeighedByChangelog());
        BrokerConfig wrong = BrokerConfig.read(Map.of("optassign.weights", "rates"));
        assertFalse(wrong.isWeighedByChangelog());
        assertEquals(
                List.of("optassign.weights: found rates; allowed: none, changelog; taken for none"), wrong.remarks());
    }

    @Test
    void invalidValuesAreReportedAndReplacedByDefaults() {
        BrokerConfig config = BrokerConfig.read(Map.of(
                "optassign.max.warmup.replicas", "many",
                "optassign.acceptable.recovery.lag", "-1",
                "optassign.warmups", "perhaps"));
        assertEquals(20, config.maxWarmups());
        assertEquals(10_000, config.acceptableLag());
        assertTrue(config.isWarmingUp());
        assertEquals(
                List.of(
                        "optassign.max.warmup.replicas: found many; allowed: a whole number from 1 to 2147483647; taken for 20",
                        "optassign.acceptable.recovery.lag: found -1; allowed: a whole number from 0 to 9223372036854775807;"
                                + " taken for 10000",
                        "optassign.warmups: found perhaps; allowed: true, false; taken for true"),
                config.remarks());
    }

    @Test
    void aServiceNeedsItsUrl() {
        BrokerEndpoint service = BrokerConfig.read(Map.of(
                        "optassign.url",
                        "https://solver:8924/base/",
                        "optassign.timeout.ms",
                        "500",
                        "optassign.token",
                        "abc"))
                .service();
        assertEquals("https://solver:8924/base/v1/assign", service.assignUri().toString());
        assertEquals(500, service.timeoutMs());
        assertEquals(
                10_000,
                BrokerConfig.read(Map.of("optassign.url", "http://solver:1"))
                        .service()
                        .timeoutMs());
    }

    /** A broker has to start, and its log must not contain secrets. */
    @Test
    void anInvalidServiceIsNotAsked() {
        Map<Map<String, String>, String> cases = Map.of(
                Map.of("optassign.url", "ftp://solver:1"), "Invalid value ftp://solver:1",
                Map.of("optassign.url", "http://u:secret@solver:1"), "Invalid value [hidden]",
                Map.of("optassign.url", "http://solver:1", "optassign.token", "secret words"), "Invalid value [hidden]",
                Map.of("optassign.url", "http://solver:1", "optassign.token", "secret", "optassign.token.file", "f"),
                        "Both optassign.token and",
                Map.of("optassign.token", "secret"), "optassign.token: found without optassign.url");
        cases.forEach((configs, expected) -> {
            BrokerConfig config = BrokerConfig.read(configs);
            assertEquals(null, config.service());
            assertEquals(1, config.remarks().size(), config.remarks().toString());
            assertTrue(
                    config.remarks().get(0).startsWith(expected),
                    config.remarks().get(0));
            assertFalse(
                    config.remarks().get(0).contains("secret"), config.remarks().get(0));
        });
    }
}
