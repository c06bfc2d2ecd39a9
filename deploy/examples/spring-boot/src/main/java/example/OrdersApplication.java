package example;

import io.github.optassign.OptassignTaskAssignor;
import java.util.Objects;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.EnableKafkaStreams;
import org.springframework.kafka.config.StreamsBuilderFactoryBeanConfigurer;

/** Counts orders per key. */
@SpringBootApplication
@EnableKafkaStreams
public class OrdersApplication {
    /** Runs the application. */
    public static void main(String[] arguments) {
        SpringApplication.run(OrdersApplication.class, arguments);
    }

    /**
     * Stops the start where a key of the assignor is wrong, before Kafka Streams begins. Without the line of the assignor
     * it checks nothing, so that deleting the line is enough to roll back.
     */
    @Bean
    StreamsBuilderFactoryBeanConfigurer checkAssignor() {
        return factory -> {
            Properties properties = Objects.requireNonNull(factory.getStreamsConfiguration());
            if (String.valueOf(properties.get("task.assignor.class")).startsWith("io.github.optassign.")) {
                OptassignTaskAssignor.check(properties);
            }
        };
    }

    /** The topology. */
    @Bean
    KStream<String, String> countOrders(StreamsBuilder builder) {
        KStream<String, String> orders = builder.stream("orders");
        orders.groupByKey().count().toStream().mapValues(String::valueOf).to("counts");
        return orders;
    }
}
