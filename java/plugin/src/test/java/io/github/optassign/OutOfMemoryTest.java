package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;

/** A lack of memory or threads because of the service costs one answer, not the leader's thread. */
class OutOfMemoryTest {
    /** Converts an OutOfMemoryError, which would end JUnit itself, into a failure. */
    private static <T> T callSurviving(Supplier<T> call) {
        try {
            return call.get();
        } catch (OutOfMemoryError e) {
            throw new AssertionError("the error was not caught", e);
        }
    }

    /**
     * The request to the service may use the last thread or megabyte. The fallback needs neither, and the leader's
     * thread continues even if the report cannot be created.
     */
    @Test
    void whileTheServiceIsAsked() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.ofThreeTasks();
        group.client(0).consumers = new TreeMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            public Set<String> keySet() {
                throw new OutOfMemoryError("unable to create native thread");
            }
        };
        try (FakeService service = new FakeService();
                LogLines log = new LogLines(OptassignTaskAssignor.class)) {
            service.behaviour = (exchange, body) -> FakeService.VALID;
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            assignor.configure(Map.of("application.id", "memory", "optassign.url", service.url()));
            TaskAssignment assignment = callSurviving(() -> assignor.assign(group.state()));
            assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
            assertEquals(2, log.warnings().size(), log.all().toString());
            String line = log.warnings().get(0);
            assertTrue(line.contains("java.lang.OutOfMemoryError: unable to create native thread, after "), line);
            line = log.warnings().get(1);
            assertTrue(
                    line.contains("report: not created, so this rebalance is not recorded: java.lang.OutOfMemoryError"),
                    line);
        }
    }
}
