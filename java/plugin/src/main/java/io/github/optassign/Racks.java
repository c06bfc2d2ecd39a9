package io.github.optassign;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/**
 * The tasks' partitions and their racks, where racks matter.
 *
 * <p>Kafka asks the broker for all racks when the first one is wanted, and tries again and again for up to half of
 * {@code max.poll.interval.ms}. So that is left to a thread of its own, and not waited for longer than for the service.
 */
final class Racks {
    private Racks() {}

    /** A partition of a task, with the racks of its replicas. */
    record Partition(String topic, int number, boolean source, boolean changelog, Set<String> racks) {
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
     * Partitions with their racks.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @return per task of the snapshot its partitions, sorted; an empty list: racks do not matter
     * @throws ServiceFailure if the broker did not tell them in time
     */
    static List<List<Partition>> of(Snapshot snapshot, long deadline) throws ServiceFailure {
        String strategy = snapshot.configs().rackAwareAssignmentStrategy();
        if (StreamsConfig.RACK_AWARE_ASSIGNMENT_STRATEGY_NONE.equals(strategy)) {
            return List.of();
        }
        FutureTask<List<List<Partition>>> question = new FutureTask<>(() -> ask(snapshot));
        Thread thread = new Thread(question, "optassign-racks");
        thread.setDaemon(true);
        thread.start();
        try {
            return question.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            // The thread ends by itself. Kafka would log an interrupt as a bug of its own.
            throw new ServiceFailure("the broker did not tell racks in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ServiceFailure("interrupted while waiting for racks");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw new ServiceFailure("the broker did not tell racks: " + e.getCause());
        }
    }

    private static List<List<Partition>> ask(Snapshot snapshot) {
        List<List<Partition>> perTask = new ArrayList<>(snapshot.taskCount());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            perTask.add(snapshot.info(t).topicPartitions().stream()
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
