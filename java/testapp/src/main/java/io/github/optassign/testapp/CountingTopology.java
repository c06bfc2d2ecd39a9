package io.github.optassign.testapp;

import java.util.LinkedHashMap;
import java.util.List;
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
 * A topology of up to three subtopologies, one of each kind that assignors distinguish: with a logged store, with an
 * unlogged store, without a store.
 *
 * <p>Each reads {@code APPLICATION-KIND-in} and writes each record to {@code APPLICATION-KIND-out}, with the same key
 * and value. A subtopology with a logged store appends {@code :COUNT}, the number of records that it has counted for
 * the key. If values are numbered from 1 per key, a value that differs from its count shows state that was lost or
 * counted twice.
 */
final class CountingTopology {
    private static final String STORE = "counts";

    private CountingTopology() {}

    /**
     * Builds the topology.
     *
     * @param kinds the subtopologies, of {@code logged}, {@code unlogged} and {@code stateless}
     * @param logsAll whether the store of kind {@code unlogged} has a changelog too
     */
    static Topology build(String application, List<String> kinds, boolean logsAll) {
        Topology topology = new Topology();
        for (String kind : kinds) {
            boolean isLogged = kind.equals("logged") || (logsAll && kind.equals("unlogged"));
            boolean counts = !kind.equals("stateless");
            add(topology, application, kind, counts, isLogged);
            if (counts) {
                var store = buildStore(kind + "-" + STORE);
                topology.addStateStore(
                        isLogged ? store.withLoggingEnabled(Map.of()) : store.withLoggingDisabled(), kind);
            }
        }
        return topology;
    }

    /** Returns the number of each source topic's subtopology, which is the first part of a task's id. */
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

    private static void add(Topology topology, String application, String kind, boolean counts, boolean appendsCount) {
        String topic = application + "-" + kind;
        topology.addSource(kind + "-in", topic + "-in");
        topology.addProcessor(kind, () -> new Counter(counts ? kind + "-" + STORE : null, appendsCount), kind + "-in");
        topology.addSink(kind + "-out", topic + "-out", kind);
    }

    private static StoreBuilder<KeyValueStore<String, Long>> buildStore(String name) {
        return Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(name), Serdes.String(), Serdes.Long());
    }

    /** A processor that counts records per key, if it has a store, and forwards them. */
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
