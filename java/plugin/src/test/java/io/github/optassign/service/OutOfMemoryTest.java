package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.OptassignTaskAssignor;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.TestGroup;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Out of memory, or of threads, because of the service: one answer is lost, not the thread that leads the group. */
class OutOfMemoryTest {
    /** Makes a failure of an OutOfMemoryError, which would end JUnit itself. */
    private static <T> T survives(Supplier<T> call) {
        try {
            return call.get();
        } catch (OutOfMemoryError e) {
            throw new AssertionError("the error goes on", e);
        }
    }

    /**
     * A body that does not fit into one array: it comes from a file without contents that is longer than an array of
     * bytes can be.
     */
    @Test
    void bodyThatDoesNotFitIntoTheHeap(@TempDir Path folder) throws IOException {
        LimitedBody body = new LimitedBody(Integer.MAX_VALUE);
        boolean[] cancelled = {false};
        body.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancelled[0] = true;
            }
        });
        try (RandomAccessFile file =
                new RandomAccessFile(folder.resolve("sparse").toFile(), "rw")) {
            file.setLength(Integer.MAX_VALUE);
            List<ByteBuffer> buffers =
                    List.of(file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, Integer.MAX_VALUE));
            survives(() -> {
                body.onNext(buffers);
                return null;
            });
        }
        ExecutionException e = assertThrows(
                ExecutionException.class,
                () -> body.getBody().toCompletableFuture().get());
        assertInstanceOf(OutOfMemoryError.class, e.getCause());
        assertTrue(cancelled[0]);
    }

    /**
     * The service may take the last thread or megabyte. The fallback needs neither, and the leader's thread goes on,
     * also where there is not enough for the report.
     */
    @Test
    void whileTheServiceIsAsked() throws IOException {
        TestGroup group = TestGroup.ofThreeTasks();
        group.client(0).tags = new AbstractMap<>() {
            @Override
            public Set<Entry<String, String>> entrySet() {
                throw new OutOfMemoryError("unable to create native thread");
            }
        };
        try (FakeService service = new FakeService();
                LogLines log = new LogLines()) {
            service.behaviour = (exchange, body) -> FakeService.VALID;
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            assignor.configure(Map.of("application.id", "memory", "optassign.url", service.url()));
            TaskAssignment assignment = survives(() -> assignor.assign(group.state()));
            assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
            assertEquals(2, log.warnings().size(), log.all().toString());
            String line = log.warnings().get(0);
            assertTrue(line.contains("java.lang.OutOfMemoryError: unable to create native thread, after "), line);
            line = log.warnings().get(1);
            assertTrue(line.contains("report: not made, so this is not recorded: java.lang.OutOfMemoryError"), line);
        }
    }
}
