package io.github.optassign.config;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;

/** Checks Kafka's own keys as Kafka Streams does when it starts, such as {@code max.warmup.replicas=0}. */
public final class KafkaConfigs {
    private KafkaConfigs() {}

    /** A StreamsConfig that does not log its values: Kafka Streams logs them once more. */
    private static final class QuietConfig extends StreamsConfig {
        QuietConfig(Map<String, Object> configs) {
            super(configs, false);
        }
    }

    /**
     * Checks all keys of Kafka Streams. The two keys without a default may be missing: the caller may set them later.
     *
     * @throws ConfigException with the key, what was found and what is allowed
     */
    public static void check(Map<String, ?> configs) {
        Map<String, Object> all = new HashMap<>(configs);
        all.putIfAbsent(StreamsConfig.APPLICATION_ID_CONFIG, "unknown");
        all.putIfAbsent(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        new QuietConfig(all);
    }
}
