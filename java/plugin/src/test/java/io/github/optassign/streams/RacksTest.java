package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.OptassignTaskAssignor;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Racks come from the broker, which may take longer than the plug-in waits. */
class RacksTest {
    private final CountDownLatch over = new CountDownLatch(1);

    @AfterEach
    void brokerAnswersAtLast() {
        over.countDown();
    }

    /** Returns a group for which a request for racks runs {@code broker}. */
    private static StreamsTestGroup group(Runnable broker) {
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0").runs(1, "0_1");
        group.rackStrategy = "min_traffic";
        for (String id : List.of("0_0", "0_1")) {
            int number = TaskId.parse(id).partition();
            group.partitions.put(
                    id, Set.of(new DefaultTaskTopicPartition(new TopicPartition("in", number), true, false, broker)));
        }
        return group;
    }

    /** Blocks for two minutes at most, so that a plug-in that waits fails the test instead of blocking it. */
    private void hang() {
        try {
            over.await(2, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long deadlineIn(long ms) {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    }

    @Test
    void brokerThatHangsIsNotAwaitedLongerThanTheService() throws IOException {
        try (FakeService service = new FakeService();
                LogLines log = new LogLines(OptassignTaskAssignor.class)) {
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            assignor.configure(
                    Map.of("application.id", "racks", "optassign.url", service.url(), "optassign.timeout.ms", 300));
            long start = System.nanoTime();
            TaskAssignment assignment = assignor.assign(group(this::hang).state());
            long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            assertTrue(tookMs >= 300 && tookMs < 60_000, tookMs + " ms");
            assertEquals(Map.of("0_0", 1, "0_1", 2), Assignments.owners(assignment));
            assertEquals(1, log.warnings().size());
            assertTrue(
                    log.warnings().get(0).contains("the broker did not tell racks in time"),
                    log.warnings().get(0));
            assertEquals(0, service.bodies.size());
        }
    }

    @Test
    void interruptIsKept() {
        StreamsGroup group = group(this::hang).read();
        Thread.currentThread().interrupt();
        ServiceFailure failure = assertThrows(ServiceFailure.class, () -> Racks.find(group, deadlineIn(60_000)));
        assertTrue(Thread.interrupted());
        assertEquals("interrupted while waiting for racks", failure.getMessage());
    }

    @Test
    void brokerThatRefuses() {
        StreamsGroup group = group(() -> {
                    throw new TimeoutException("no\nluck");
                })
                .read();
        ServiceFailure failure = assertThrows(ServiceFailure.class, () -> Racks.find(group, deadlineIn(60_000)));
        assertEquals(
                "the broker did not tell racks: org.apache.kafka.common.errors.TimeoutException: no luck",
                failure.getMessage());
    }

    /** The thread that asks the broker does not keep the JVM alive. */
    @Test
    void threadIsADaemon() throws ServiceFailure {
        boolean[] daemon = {false};
        Racks.find(group(() -> daemon[0] = Thread.currentThread().isDaemon()).read(), deadlineIn(60_000));
        assertTrue(daemon[0]);
    }
}
