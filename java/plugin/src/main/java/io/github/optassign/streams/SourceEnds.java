package io.github.optassign.streams;

import io.github.optassign.service.ServiceFailure;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;

/**
 * Finds out how far the input of each task goes, from which the service measures how fast it grows: one call of the
 * application's own admin client for the end offsets of all source partitions.
 */
public final class SourceEnds {
    private SourceEnds() {}

    /**
     * Finds the end offsets.
     *
     * @param deadline as of System.nanoTime; nothing waits longer
     * @return per task of the snapshot the end offsets of its source partitions, summed: all of them or none, since a
     *     part would look like a topic that was made anew
     * @throws ServiceFailure if the broker did not tell all of them in time
     */
    public static long[] find(StreamsGroup group, ApplicationAdmin admin, long deadline) throws ServiceFailure {
        return BrokerQuestion.ask("end offsets", () -> askBroker(group, admin, deadline), deadline);
    }

    private static long[] askBroker(StreamsGroup group, ApplicationAdmin admin, long deadline) throws Exception {
        int count = group.snapshot().taskCount();
        Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
        for (int t = 0; t < count; t++) {
            listSources(group, t).forEach(source -> wanted.put(source, OffsetSpec.latest()));
        }
        long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        ListOffsetsOptions options = new ListOffsetsOptions().timeoutMs((int) Math.max(1, leftMs));
        Map<TopicPartition, ListOffsetsResultInfo> found;
        try {
            found = admin.use(
                    client -> client.listOffsets(wanted, options).all().get());
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
        long[] ends = new long[count];
        for (int t = 0; t < count; t++) {
            for (TopicPartition source : listSources(group, t)) {
                ends[t] += Math.max(0, found.get(source).offset());
            }
        }
        return ends;
    }

    private static List<TopicPartition> listSources(StreamsGroup group, int t) {
        return group.info(t).topicPartitions().stream()
                .filter(TaskTopicPartition::isSource)
                .map(TaskTopicPartition::topicPartition)
                .toList();
    }
}
