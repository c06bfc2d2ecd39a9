package io.github.optassign.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The service gets the progress of copies, and the application's own listeners get all calls. */
class ProgressTest {
    private static final TopicPartition COUNTS = new TopicPartition("orders-counts-changelog", 3);
    private static final TopicPartition SUMS = new TopicPartition("orders-sums-changelog", 3);
    private static final TaskId TASK = new TaskId(0, 3);

    private final String application = "progress-" + UUID.randomUUID();
    private final LogLines log = new LogLines(ProgressSender.class, "application=" + application);
    private FakeService service;
    private RestoringCopies copies;

    @BeforeEach
    void open() throws IOException {
        service = new FakeService();
        service.behaviour = (exchange, body) -> "{\"next_ms\": 1}";
        Map<String, Object> configs = service.configs();
        configs.put("acceptable.recovery.lag", 10L);
        copies = new RestoringCopies(new ProgressSender(PluginConfig.forApplication(configs), application, "p-1"));
    }

    @AfterEach
    void close() {
        service.close();
        log.close();
    }

    private String last() {
        return service.bodies.get(service.bodies.size() - 1);
    }

    private void awaitMessage(String part) {
        Awaiting.until(() -> !service.bodies.isEmpty() && last().contains(part), () -> service.bodies.toString());
    }

    @Test
    void storesOfATaskAreSummedAndTheLastMessageHasNoLag() {
        ProgressListener listener = new ProgressListener(copies, null, null);
        listener.onUpdateStart(COUNTS, "counts", 0);
        listener.onUpdateStart(SUMS, "sums", 0);
        listener.onBatchLoaded(COUNTS, "counts", TASK, 99, 100, 1_000);
        listener.onBatchLoaded(SUMS, "sums", TASK, 9, 10, 500);
        awaitMessage("\"lag\":" + (900 + 490));
        assertTrue(last().startsWith("{\"application\":\"" + application + "\",\"client\":\"p-1\""), last());
        assertTrue(last().contains("\"task\":\"0_3\",\"partition\":3,\"role\":\"standby\""), last());
        assertEquals("/v1/progress", service.headers.get(0).getFirst("Test-Path"));

        listener.onBatchLoaded(COUNTS, "counts", TASK, 999, 900, 1_000);
        listener.onBatchLoaded(SUMS, "sums", TASK, 494, 485, 500);
        awaitMessage("\"lag\":5,");
        awaitEndOfThread();
    }

    private void awaitEndOfThread() {
        Awaiting.until(
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("optassign-progress")),
                () -> "the thread still runs after " + service.bodies.size() + " messages");
    }

    @Test
    void anActiveTaskIsReportedByItsPartitionUntilItRuns() {
        ProgressListener listener = new ProgressListener(copies, null, null);
        listener.onRestoreStart(COUNTS, "counts", 50, 1_000);
        listener.onBatchRestored(COUNTS, "counts", 549, 500);
        awaitMessage("{\"partition\":3,\"role\":\"active\",\"lag\":450,");
        listener.onRestoreEnd(COUNTS, "counts", 950);
        awaitMessage("\"copies\":[]");
    }

    @Test
    void aServiceWithoutThePageIsCalledOnce() {
        service.behaviour = (exchange, body) -> FakeService.reply(exchange, 404, "{}");
        ProgressListener listener = new ProgressListener(copies, null, null);
        listener.onRestoreStart(COUNTS, "counts", 0, 1_000);
        Awaiting.until(() -> !log.warnings().isEmpty(), () -> service.bodies.toString());
        listener.onRestoreStart(SUMS, "sums", 0, 1_000);
        assertEquals(1, log.warnings().size());
        assertTrue(log.warnings().get(0).contains("status 404"), log.warnings().get(0));
        assertEquals(1, service.bodies.size());
    }

    /** Kafka loads no batch for a standby whose changelog has nothing new, so its lag stays unknown. */
    @Test
    void aStandbyWithNothingToReadIsNotAwaitedForEver() {
        new ProgressListener(copies, null, null).onUpdateStart(COUNTS, "counts", 0);
        assertTrue(copies.areBehind(10, System.nanoTime()));
        assertFalse(copies.areBehind(10, System.nanoTime() + TimeUnit.SECONDS.toNanos(61)));
        copies.end(COUNTS);
        awaitEndOfThread();
    }

    @Test
    void theApplicationsListenersGetAllCalls() {
        List<String> calls = new ArrayList<>();
        ProgressListener listener = new ProgressListener(copies, new Restore(calls), new Standby(calls));
        listener.onRestoreStart(COUNTS, "counts", 1, 2);
        listener.onBatchRestored(COUNTS, "counts", 3, 4);
        listener.onRestoreSuspended(COUNTS, "counts", 5);
        listener.onRestoreEnd(COUNTS, "counts", 6);
        listener.onUpdateStart(SUMS, "sums", 7);
        listener.onBatchLoaded(SUMS, "sums", TASK, 8, 9, 10);
        listener.onUpdateSuspended(SUMS, "sums", 11, 12, StandbyUpdateListener.SuspendReason.PROMOTED);
        assertEquals(
                List.of("start 1 2", "batch 3 4", "suspended 5", "end 6", "update 7", "loaded 0_3 8 9 10", "off 11 12"),
                calls);
    }

    private record Restore(List<String> calls) implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long from, long end) {
            calls.add("start " + from + " " + end);
        }

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long last, long records) {
            calls.add("batch " + last + " " + records);
        }

        @Override
        public void onRestoreSuspended(TopicPartition changelog, String store, long records) {
            calls.add("suspended " + records);
        }

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long records) {
            calls.add("end " + records);
        }
    }

    private record Standby(List<String> calls) implements StandbyUpdateListener {
        @Override
        public void onUpdateStart(TopicPartition changelog, String store, long from) {
            calls.add("update " + from);
        }

        @Override
        public void onBatchLoaded(
                TopicPartition changelog, String store, TaskId task, long last, long records, long end) {
            calls.add("loaded " + task + " " + last + " " + records + " " + end);
        }

        @Override
        public void onUpdateSuspended(
                TopicPartition changelog, String store, long offset, long end, SuspendReason reason) {
            calls.add("off " + offset + " " + end);
        }
    }
}
