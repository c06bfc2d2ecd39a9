package example;

import io.github.optassign.OptassignProgress;
import io.github.optassign.OptassignTaskAssignor;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/**
 * Counts orders per key: {@code OrdersApplication [PROPERTIES_FILE]}. Its settings come from the environment, as
 * containers have them; those of the file go before.
 */
public final class OrdersApplication {
    private OrdersApplication() {}

    /** Runs until SIGTERM. */
    public static void main(String[] arguments) throws InterruptedException, IOException {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "orders");
        putIfGiven(properties, StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "BOOTSTRAP_SERVERS");
        putIfGiven(properties, StreamsConfig.STATE_DIR_CONFIG, "STATE_DIR");
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
        properties.put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, 6);
        properties.put(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG, OptassignTaskAssignor.class.getName());
        // A static member keeps its tasks over a restart; the service and its pages call the instance by this name.
        putIfGiven(properties, "group.instance.id", "POD_NAME");
        putIfGiven(properties, "client.id", "POD_NAME");
        putIfGiven(properties, "optassign.url", "OPTASSIGN_URL");
        putIfGiven(properties, "optassign.token", "OPTASSIGN_TOKEN");
        if (arguments.length > 0) {
            try (Reader file = Files.newBufferedReader(Path.of(arguments[0]))) {
                properties.load(file);
            }
        }
        OptassignTaskAssignor.check(properties);

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("orders").groupByKey().count().toStream().mapValues(String::valueOf).to("counts");

        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        OptassignProgress.attach(streams, properties); // the service's page shows warm-ups live
        CountDownLatch end = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close(Duration.ofSeconds(30));
            end.countDown();
        }));
        streams.start();
        end.await();
    }

    private static void putIfGiven(Properties properties, String key, String variable) {
        String value = System.getenv(variable);
        if (value != null && !value.isEmpty()) {
            properties.put(key, value);
        }
    }
}
