package io.github.optassign.streams;

import io.github.optassign.model.RackTraffic;
import io.github.optassign.service.ServiceFailure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/**
 * Finds out the tasks' partitions and their racks, where racks matter.
 *
 * <p>Kafka asks the broker for all racks when the first one is wanted, and tries again and again for up to half of
 * {@code max.poll.interval.ms}. A thread of its own does that, and nobody waits for it longer than for the service.
 */
public final class Racks {
    private Racks() {}

    /** A partition that a task reads or writes, with the racks of its replicas. */
    public record Partition(String topic, int number, boolean source, boolean changelog, Set<String> racks) {
        private static Partition of(TaskTopicPartition partition) {
            return new Partition(
                    partition.topicPartition().topic(),
                    partition.topicPartition().partition(),
                    partition.isSource(),
                    partition.isChangelog(),
                    new TreeSet<>(partition.rackIds().orElse(Set.of())));
        }
    }

    /**
     * Finds the partitions and their racks.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @return per task of the snapshot its partitions, sorted; an empty list: racks do not matter
     * @throws ServiceFailure if the broker did not tell them in time
     */
    public static List<List<Partition>> find(StreamsGroup group, long deadline) throws ServiceFailure {
        String strategy = group.configs().rackAwareAssignmentStrategy();
        if (StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE.equals(strategy)) {
            return List.of();
        }
        return BrokerQuestion.ask("racks", () -> askBroker(group), deadline);
    }

    /** What copies read across racks, if partitions and racks are known. */
    public static RackTraffic toTraffic(StreamsGroup group, List<List<Partition>> perTask) {
        if (perTask.isEmpty()) {
            return RackTraffic.NONE;
        }
        Map<String, Integer> numbers = new HashMap<>();
        int[] total = new int[perTask.size()];
        for (int t = 0; t < total.length; t++) {
            for (Partition partition : perTask.get(t)) {
                total[t]++;
                partition.racks().forEach(rack -> numbers.putIfAbsent(rack, numbers.size()));
            }
        }
        int[][] partitions = new int[total.length][numbers.size()];
        for (int t = 0; t < total.length; t++) {
            for (Partition partition : perTask.get(t)) {
                for (String rack : partition.racks()) {
                    partitions[t][numbers.get(rack)]++;
                }
            }
        }
        int[] racks = new int[group.snapshot().clientCount()];
        for (int c = 0; c < racks.length; c++) {
            racks[c] = group.state(c).rackId().map(numbers::get).orElse(-1);
        }
        return new RackTraffic(partitions, total, racks);
    }

    private static List<List<Partition>> askBroker(StreamsGroup group) {
        List<List<Partition>> perTask = new ArrayList<>(group.snapshot().taskCount());
        for (int t = 0; t < group.snapshot().taskCount(); t++) {
            perTask.add(group.info(t).topicPartitions().stream()
                    .map(Partition::of)
                    .sorted(Comparator.comparing(Partition::topic)
                            .thenComparingInt(Partition::number)
                            .thenComparing(Partition::source)
                            .thenComparing(Partition::changelog))
                    .toList());
        }
        return perTask;
    }
}
