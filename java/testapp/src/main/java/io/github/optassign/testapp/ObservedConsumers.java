package io.github.optassign.testapp;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;

/**
 * A supplier of Kafka's own consumers that also print every assignment, and can request a rebalance.
 *
 * <p>A requested rebalance replaces a follow-up, which would take a minute: the least
 * {@code probing.rebalance.interval.ms}.
 */
final class ObservedConsumers extends DefaultKafkaClientSupplier {
    private final Map<String, Integer> subtopologies;
    private final Collection<Observed> consumers = new ConcurrentLinkedQueue<>();

    /**
     * Creates a supplier.
     *
     * @param subtopologies the number of each source topic's subtopology
     */
    ObservedConsumers(Map<String, Integer> subtopologies) {
        this.subtopologies = subtopologies;
    }

    /** Makes a member of the group ask for a rebalance at its next poll. */
    void rebalance() {
        consumers.stream().findFirst().ifPresent(consumer -> consumer.rebalance.set(true));
    }

    @Override
    public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
        var consumer = new Observed(config);
        consumers.add(consumer);
        return consumer;
    }

    private final class Observed extends KafkaConsumer<byte[], byte[]> {
        private final AtomicBoolean rebalance = new AtomicBoolean();
        private final String name;
        private int generation = -1;
        private Set<TopicPartition> assigned = Set.of();

        Observed(Map<String, Object> config) {
            super(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            name = String.valueOf(config.get(ConsumerConfig.CLIENT_ID_CONFIG));
        }

        @Override
        public ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            if (rebalance.getAndSet(false)) {
                enforceRebalance("the test asks for it");
            }
            var records = super.poll(timeout);
            int now = groupMetadata().generationId();
            if (now != generation || !assignment().equals(assigned)) {
                generation = now;
                assigned = Set.copyOf(assignment());
                Events.print("assigned", Map.of("consumer", name, "generation", generation, "active", tasks()));
            }
            return records;
        }

        @Override
        public void close(org.apache.kafka.clients.consumer.CloseOptions options) {
            consumers.remove(this);
            super.close(options);
        }

        /** Returns the ids of the tasks whose source partitions this consumer has, sorted. */
        private List<String> tasks() {
            return assigned.stream()
                    .map(source -> new TaskId(subtopologies.get(source.topic()), source.partition()))
                    .sorted()
                    .map(TaskId::toString)
                    .toList();
        }
    }
}
