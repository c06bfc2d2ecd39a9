package io.github.optassign.streams;

import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.ServiceFailure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/**
 * The tasks' partitions and their racks, found if racks are used.
 *
 * <p>Kafka asks the broker for all racks on the first access, and retries for up to half of
 * {@code max.poll.interval.ms}. A separate thread does that, and the caller waits no longer than for the service.
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
     * @param deadline the end of the wait, as of System.nanoTime
     * @return per task of the snapshot its partitions, sorted; empty if racks are not used
     * @throws ServiceFailure if the broker does not report them in time
     */
    public static List<List<Partition>> find(StreamsGroup group, long deadline) throws ServiceFailure {
        String strategy = group.configs().rackAwareAssignmentStrategy();
        if (StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE.equals(strategy)) {
            return List.of();
        }
        return BrokerQuestion.ask("racks", () -> askBroker(group), deadline);
    }

    /**
     * Returns the numbers of partitions that copies read across racks. As in Kafka, they are known only if every client
     * has a rack, and every task has partitions to read, each with the racks of its replicas.
     *
     * @return {@link RackTraffic#NONE} if unknown
     */
    public static RackTraffic toTraffic(StreamsGroup group, List<List<Partition>> perTask) {
        Snapshot snapshot = group.snapshot();
        boolean areKnown = !perTask.isEmpty();
        for (int t = 0; t < perTask.size(); t++) {
            boolean hasStandbys = snapshot.standbysPerTask() > 0 && snapshot.isLogged(t);
            areKnown &= isKnown(perTask.get(t), Partition::source)
                    && (!hasStandbys || isKnown(perTask.get(t), Partition::changelog));
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            areKnown &= group.state(c).rackId().isPresent();
        }
        if (!areKnown) {
            return RackTraffic.NONE;
        }
        Map<String, Integer> numbers = new HashMap<>();
        perTask.forEach(partitions -> partitions.forEach(
                partition -> partition.racks().forEach(rack -> numbers.putIfAbsent(rack, numbers.size()))));
        int[] racks = new int[snapshot.clientCount()];
        for (int c = 0; c < racks.length; c++) {
            racks[c] = group.state(c).rackId().map(numbers::get).orElse(-1);
        }
        return new RackTraffic(
                count(perTask, Partition::source, numbers), count(perTask, Partition::changelog, numbers), racks);
    }

    private static boolean isKnown(List<Partition> partitions, Predicate<Partition> isRead) {
        return partitions.stream().anyMatch(isRead)
                && partitions.stream()
                        .filter(isRead)
                        .noneMatch(partition -> partition.racks().isEmpty());
    }

    private static RackTraffic.Reads count(
            List<List<Partition>> perTask, Predicate<Partition> isRead, Map<String, Integer> numbers) {
        int[] total = new int[perTask.size()];
        int[][] inRack = new int[total.length][numbers.size()];
        for (int t = 0; t < total.length; t++) {
            for (Partition partition : perTask.get(t)) {
                if (isRead.test(partition)) {
                    total[t]++;
                    for (String rack : partition.racks()) {
                        inRack[t][numbers.get(rack)]++;
                    }
                }
            }
        }
        return new RackTraffic.Reads(inRack, total);
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
