package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.optassign.OptassignTaskAssignor;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.streams.StreamsConfig.InternalConfig;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.ReferenceContainer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** End offsets of source partitions come from the broker, and an assignment does not depend on them. */
class SourceEndsTest {
    private final CountDownLatch over = new CountDownLatch(1);
    /** The partitions for which the broker was asked. */
    private Set<?> asked = Set.of();

    @AfterEach
    void brokerAnswersAtLast() {
        over.countDown();
    }

    /** Returns two tasks that each read a partition of one topic, and the second also one of another topic. */
    private static StreamsTestGroup group() {
        StreamsTestGroup group = StreamsTestGroup.ofThreeTasks();
        group.partitions.put("0_0", Set.of(partition("in", 0, true), partition("changelog", 0, false)));
        group.partitions.put("0_1", Set.of(partition("in", 1, true), partition("more", 1, true)));
        return group;
    }

    private static DefaultTaskTopicPartition partition(String topic, int number, boolean isSource) {
        return new DefaultTaskTopicPartition(new TopicPartition(topic, number), isSource, !isSource, () -> {
            throw new AssertionError("racks do not matter here");
        });
    }

    /** Configs with a time-out that no test reaches. */
    private static final Map<String, Object> PATIENT = Map.of(
            "optassign.weights", "rates",
            "optassign.timeout.ms", 60_000,
            "request.timeout.ms", 120_000,
            "session.timeout.ms", 120_000);

    /** Returns the configs of an assignor whose broker gives these end offsets. */
    private Map<String, Object> configs(Function<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> broker) {
        ReferenceContainer references = new ReferenceContainer();
        references.adminClient = (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (proxy, method, given) -> {
                    assertEquals("listOffsets", method.getName());
                    asked = ((Map<?, ?>) given[0]).keySet();
                    Map<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> futures = new HashMap<>();
                    asked.forEach(name -> futures.put((TopicPartition) name, broker.apply((TopicPartition) name)));
                    return new ListOffsetsResult(futures);
                });
        Map<String, Object> configs = new HashMap<>(PATIENT);
        configs.put(InternalConfig.REFERENCE_CONTAINER_PARTITION_ASSIGNOR, references);
        return configs;
    }

    private static KafkaFuture<ListOffsetsResultInfo> answer(TopicPartition name) {
        long end = name.topic().equals("in") ? 100 + name.partition() : 1_000;
        return KafkaFuture.completedFuture(new ListOffsetsResultInfo(end, -1, Optional.empty()));
    }

    /** Starts a service with right answers, since after a wrong one it would not be asked for a while. */
    private static FakeService startService() throws IOException {
        FakeService service = new FakeService();
        service.behaviour = (exchange, body) -> FakeService.VALID;
        return service;
    }

    private static JsonNode tasks(FakeService service) throws IOException {
        return new ObjectMapper().readTree(service.bodies.get(0)).get("tasks");
    }

    /**
     * Runs a rebalance that the service answers although the broker failed.
     *
     * @return the warning
     */
    private static String warningOf(Map<String, Object> configs) throws IOException {
        try (FakeService service = startService();
                LogLines log = new LogLines(OptassignTaskAssignor.class)) {
            service.rebalance(group(), configs, AssignmentError.NONE);
            assertFalse(tasks(service).get(0).has("source_end_offset"));
            assertEquals(1, log.warnings().size(), log.warnings().toString());
            return log.warnings().get(0);
        }
    }

    @Test
    void sourcePartitionsOfEachTaskAreSummed() throws IOException {
        try (FakeService service = startService()) {
            service.rebalance(group(), configs(SourceEndsTest::answer), AssignmentError.NONE);
            assertEquals(100, tasks(service).get(0).get("source_end_offset").asLong());
            assertEquals(1_101, tasks(service).get(1).get("source_end_offset").asLong());
            assertEquals(0, tasks(service).get(2).get("source_end_offset").asLong());
            assertEquals(
                    Set.of(new TopicPartition("in", 0), new TopicPartition("in", 1), new TopicPartition("more", 1)),
                    asked);
        }
    }

    @Test
    void brokerIsAskedOnlyForRates() throws IOException {
        try (FakeService service = startService()) {
            Map<String, Object> configs = configs(SourceEndsTest::answer);
            configs.put("optassign.weights", "changelog");
            service.rebalance(group(), configs, AssignmentError.NONE);
            assertFalse(tasks(service).get(0).has("source_end_offset"));
            assertEquals(Set.of(), asked);
        }
    }

    /** The service is still asked, and in time. */
    @Test
    void brokerThatHangs() throws IOException {
        Map<String, Object> configs = configs(name -> {
            try {
                over.await(2, TimeUnit.MINUTES);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return answer(name);
        });
        configs.put("optassign.timeout.ms", 8_000);
        String warning = warningOf(configs);
        assertTrue(warning.contains("the growth of the input is not measured in this rebalance: "), warning);
        assertTrue(warning.contains("the broker did not tell end offsets in time"), warning);
    }

    /** One missing end offset discards all; a sum without it would look like a topic that was created anew. */
    @Test
    void brokerThatRefusesOnePartition() throws IOException {
        String warning = warningOf(configs(name -> {
            KafkaFutureImpl<ListOffsetsResultInfo> refused = new KafkaFutureImpl<>();
            refused.completeExceptionally(new UnknownTopicOrPartitionException("no\nluck"));
            return name.topic().equals("more") ? refused : answer(name);
        }));
        assertTrue(warning.contains("UnknownTopicOrPartitionException: no luck"), warning);
    }

    /**
     * Another version of Kafka Streams may keep its admin client elsewhere; then a client is created from the
     * properties.
     */
    @Test
    void propertiesWithoutAValidAdminClient() throws IOException {
        String warning = warningOf(PATIENT);
        assertTrue(warning.contains("Failed to create new KafkaAdminClient"), warning);
    }
}
