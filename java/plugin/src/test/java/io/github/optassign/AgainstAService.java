package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.optassign.learn.Memories;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.util.Map;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * The basis of tests of the plug-in against a real HTTP server. The server gives valid answers unless a test sets
 * another behaviour, and each test starts without memory.
 */
abstract class AgainstAService {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String VALID = FakeService.VALID;

    FakeService service;
    final LogLines log = new LogLines(OptassignTaskAssignor.class);

    @BeforeEach
    void open() throws IOException {
        Memories.clearAll();
        service = new FakeService();
        service.behaviour = (exchange, body) -> VALID;
    }

    @AfterEach
    void close() {
        service.close();
        log.close();
    }

    static StreamsTestGroup group() {
        return StreamsTestGroup.ofThreeTasks();
    }

    TaskAssignment rebalance(StreamsTestGroup group, Map<String, ?> more, AssignmentError outcome) {
        return service.rebalance(group, more, outcome);
    }

    /** Asserts that the first warning contains a text. */
    void assertWarned(String text) {
        assertContains(text, log.warnings().get(0));
    }

    static void assertContains(String part, String text) {
        assertTrue(text.contains(part), text);
    }

    /** Returns the snapshot of a call, counted from 0. */
    JsonNode sent(int call) throws IOException {
        return JSON.readTree(service.bodies.get(call));
    }
}
