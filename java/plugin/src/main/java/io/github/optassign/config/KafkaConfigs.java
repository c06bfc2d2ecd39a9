package io.github.optassign.config;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;

/** Kafka Streams' own check of its keys, ahead of its start; it refuses {@code max.warmup.replicas=0}, for example. */
public final class KafkaConfigs {
    private KafkaConfigs() {}

    /** A StreamsConfig that does not log its values, since Kafka Streams logs them itself. */
    private static final class QuietConfig extends StreamsConfig {
        QuietConfig(Map<String, Object> configs) {
            super(configs, false);
        }
    }

    /**
     * Checks all keys of Kafka Streams. The two keys without a default may be missing, since the caller may set them
     * later.
     *
     * @throws ConfigException if a value is invalid; names the key, the value and the allowed values
     */
    public static void check(Map<String, ?> configs) {
        Map<String, Object> all = new HashMap<>(configs);
        all.putIfAbsent(StreamsConfig.APPLICATION_ID_CONFIG, "unknown");
        all.putIfAbsent(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9092");
        new QuietConfig(all);
    }
}
