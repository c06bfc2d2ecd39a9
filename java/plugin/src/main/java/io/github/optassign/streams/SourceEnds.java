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
 * The end offsets of each task's input, from which the growth of the input is measured. One call of the application's
 * own admin client reads all source partitions.
 */
public final class SourceEnds {
    private SourceEnds() {}

    /**
     * Finds the end offsets.
     *
     * @param deadline the end of the wait, as of System.nanoTime
     * @return per task of the snapshot the sum of the end offsets of its source partitions
     * @throws ServiceFailure if the broker does not report all of them in time; a partial sum would look like a topic
     *     that was created anew
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
