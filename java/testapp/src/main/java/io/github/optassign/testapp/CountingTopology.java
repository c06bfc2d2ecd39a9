package io.github.optassign.testapp;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyDescription;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Three subtopologies, one of each kind that an assignor tells apart: with a logged store, with an unlogged one, with
 * none.
 *
 * <p>Each reads {@code APPLICATION-KIND-in} and writes one record per record to {@code APPLICATION-KIND-out}: the same
 * key, and the value as it came. The logged one appends {@code :COUNT}, how many records of this key it has counted. If
 * values are numbered from 1 per key, a value that differs from its count shows state that was lost or counted twice.
 */
final class CountingTopology {
    private static final String STORE = "counts";

    private CountingTopology() {}

    /**
     * Builds it.
     *
     * @param bytesPerCount what each count takes in the store with a changelog
     * @param logsAll whether the store of the second subtopology keeps a changelog, too
     */
    static Topology build(String application, int bytesPerCount, boolean logsAll) {
        Topology topology = new Topology();
        add(topology, application, "logged", true);
        topology.addStateStore(buildStore("logged-" + STORE, bytesPerCount).withLoggingEnabled(Map.of()), "logged");
        add(topology, application, "unlogged", true);
        StoreBuilder<KeyValueStore<String, Long>> second = buildStore("unlogged-" + STORE, Long.BYTES);
        topology.addStateStore(
                logsAll ? second.withLoggingEnabled(Map.of()) : second.withLoggingDisabled(), "unlogged");
        add(topology, application, "stateless", false);
        return topology;
    }

    /** Finds the number of each source topic's subtopology, which is the first half of a task's id. */
    static Map<String, Integer> numberSubtopologies(Topology topology) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        for (var subtopology : topology.describe().subtopologies()) {
            for (var node : subtopology.nodes()) {
                if (node instanceof TopologyDescription.Source source) {
                    source.topicSet().forEach(topic -> numbers.put(topic, subtopology.id()));
                }
            }
        }
        return numbers;
    }

    private static void add(Topology topology, String application, String kind, boolean counts) {
        String topic = application + "-" + kind;
        topology.addSource(kind + "-in", topic + "-in");
        topology.addProcessor(
                kind, () -> new Counter(counts ? kind + "-" + STORE : null, kind.equals("logged")), kind + "-in");
        topology.addSink(kind + "-out", topic + "-out", kind);
    }

    private static StoreBuilder<KeyValueStore<String, Long>> buildStore(String name, int bytesPerCount) {
        return Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(name), Serdes.String(), new PaddedLongs(bytesPerCount));
    }

    /** Counts records per key, if it has a store, and forwards each of them. */
    private static final class Counter implements Processor<String, String, String, String> {
        private final String storeName;
        private final boolean appendsCount;
        private ProcessorContext<String, String> context;
        private KeyValueStore<String, Long> counts;

        Counter(String storeName, boolean appendsCount) {
            this.storeName = storeName;
            this.appendsCount = appendsCount;
        }

        @Override
        public void init(ProcessorContext<String, String> context) {
            this.context = context;
            counts = storeName == null ? null : context.getStateStore(storeName);
        }

        @Override
        public void process(Record<String, String> record) {
            String value = record.value();
            if (counts != null) {
                Long before = counts.get(record.key());
                long count = before == null ? 1 : before + 1;
                counts.put(record.key(), count);
                value = appendsCount ? value + ":" + count : value;
            }
            context.forward(record.withValue(value));
        }
    }
}
