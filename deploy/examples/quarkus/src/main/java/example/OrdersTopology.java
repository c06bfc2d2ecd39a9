package example;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;

/** Counts orders per key. */
@ApplicationScoped
public class OrdersTopology {
    /** The topology, which Quarkus starts. */
    @Produces
    public Topology countOrders() {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("orders").groupByKey().count().toStream().mapValues(String::valueOf).to("counts");
        return builder.build();
    }
}
