package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Timing;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.SixTasks;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.streams.errors.TaskAssignmentException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The assignor as Kafka uses it: a new instance for every rebalance, against a real HTTP server. */
class OptassignTaskAssignorTest extends AgainstAService {
    @Test
    void headersAreThoseOfTheProtocol() throws IOException {
        rebalance(group(), Map.of("optassign.token", "s3cr.et="), AssignmentError.NONE);
        var headers = service.headers.get(0);
        assertEquals("/v1/assign", headers.getFirst("Test-Path"));
        assertEquals("application/json", headers.getFirst("Content-Type"));
        assertEquals("1", headers.getFirst("Optassign-Protocol"));
        assertEquals("active", headers.getFirst("Optassign-Mode"));
        assertEquals("0.1.0", headers.getFirst("Optassign-Plugin"));
        assertEquals("Bearer s3cr.et=", headers.getFirst("Authorization"));
        assertNull(headers.getFirst("Optassign-Remembered-At"));
        long deadline = Long.parseLong(headers.getFirst("Optassign-Deadline-Ms"));
        assertTrue(deadline > 0 && deadline <= 59_800, "a fifth of a second is kept back: " + deadline);
        assertEquals("orders", sent(0).get("application").asText());
    }

    @Test
    void followupIsAnInstantOnTheClientThatAsks() {
        Instant before = Instant.now();
        StreamsTestGroup group = SixTasks.group();
        service.behaviour = (exchange, body) -> SixTasks.RIGHT;
        TaskAssignment assignment = rebalance(group, Map.of(), AssignmentError.NONE);
        for (KafkaStreamsAssignment client : assignment.assignment()) {
            Optional<Instant> deadline = client.followupRebalanceDeadline();
            if (client.processId().equals(group.client(0).id())) {
                Duration delay = Duration.between(before, deadline.orElseThrow());
                assertFalse(delay.compareTo(Duration.ofMillis(90_000)) < 0, delay.toString());
            } else {
                assertEquals(Optional.empty(), deadline);
            }
        }
        assertEquals(1_000, Timing.clampFollowupMs(0), "no endless rebalances");
        assertEquals(
                100, CheckedAnswer.clampOfService(0), "a second pass has taken its own time; backOff does the rest");
        assertEquals(1_500, CheckedAnswer.clampOfService(1_500));
        long latest = Timing.clampFollowupMs(Long.MAX_VALUE);
        assertTrue(Instant.now().plusMillis(latest).toEpochMilli() > 0, "no overflow");
    }

    /** Trigger and id connect a line with the service's pages. */
    @Test
    void linesSayWhyTheGroupRebalancesAndByWhichId() {
        StreamsTestGroup group = group();
        rebalance(group, Map.of(), AssignmentError.NONE);
        rebalance(group, Map.of(), AssignmentError.NONE);
        group.clients.add(new StreamsTestGroup.Client(9));
        rebalance(group, Map.of(), AssignmentError.NONE);
        List<String> lines = log.rebalances();
        List<String> triggers = List.of("first_led", "other", "joined:1");
        for (int i = 0; i < 3; i++) {
            String id = service.headers.get(i).getFirst("Optassign-Rebalance");
            String wanted = "trigger=" + triggers.get(i) + " rebalance=" + id;
            assertTrue(lines.get(i).contains(wanted), wanted + " in " + lines.get(i));
        }
        assertEquals(1, log.count("configured: version=0.1.0 mode=active asks the service at http"), "once");
    }

    /** Kafka Streams removes the prefix of keys before it passes them to the main consumer, and so to the plug-in. */
    @Test
    void checkTakesKeysOfTheMainConsumerAndSaysSoInTheLog() {
        Map<String, Object> configs = Map.of(
                "application.id", "orders",
                "task.assignor.class", OptassignTaskAssignor.class.getName(),
                "main.consumer.optassign.url", "http://127.0.0.1:8924");
        OptassignTaskAssignor.check(configs);
        assertEquals(1, log.count("check passed: version=0.1.0 mode=active asks the service at http://127.0.0.1:8924"));
        Map<String, Object> bad = new HashMap<>(configs);
        bad.put("consumer.optassign.timeout.ms", 77);
        assertThrows(ConfigException.class, () -> OptassignTaskAssignor.check(bad));
    }

    @Test
    void badConfigurationIsReportedOnceAndAnsweredByTheFallback() {
        Map<String, Object> bad = Map.of("optassign.timeout.ms", 77);
        for (int i = 1; i <= 2; i++) {
            TaskAssignment assignment = rebalance(group(), bad, AssignmentError.NONE);
            assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
            assertEquals(i, log.warnings().size());
        }
        assertEquals(1, log.of(Level.ERROR).size());
        assertContains(
                "Invalid value 77 for configuration optassign.timeout.ms: Value must be at least 200",
                log.of(Level.ERROR).get(0));
        assertWarned("fallback: configuration: Invalid value 77");
        assertEquals(0, service.bodies.size());
    }

    /** An invalid key does not count as a failure of a service if none is configured. */
    @Test
    void badKeyWithoutAServiceIsNoFailureOfAService() throws Exception {
        ObjectName bean = new ObjectName("optassign:type=assignor-metrics,application-id=no-service");
        for (int i = 1; i <= 2; i++) {
            OptassignTaskAssignor assignor = new OptassignTaskAssignor();
            assignor.configure(Map.of("application.id", "no-service", "optassign.followup", "soon"));
            assignor.assign(group().state());
            assignor.onAssignmentComputed(null, null, AssignmentError.NONE);
            assertEquals(i, log.warnings().size());
            String line = log.warnings().get(i - 1);
            assertContains("configuration: Invalid value soon for configuration optassign.followup", line);
            assertTrue(line.endsWith("; the planner answers as if no key of optassign were set"), line);
            assertTrue(
                    log.rebalances().get(i - 1).contains("answered_by=planner"),
                    log.all().toString());
        }
        assertEquals(1, log.of(Level.ERROR).size());
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        assertEquals(0L, server.getAttribute(bean, "service-failure-total"));
        assertEquals(0L, server.getAttribute(bean, "fallback"));
        assertEquals(2L, server.getAttribute(bean, "answered-by-planner-total"));
    }

    @Test
    void neverConfiguredIsNoReasonToFail() {
        assertEquals(
                3,
                Assignments.owners(new OptassignTaskAssignor().assign(group().state()))
                        .size());
    }

    @Test
    void tokenIsNeverLogged(@TempDir Path folder) throws IOException {
        service.behaviour = (exchange, body) -> {
            FakeService.reply(exchange, 401, "{\"error\": \"the token is wrong\"}");
            return null;
        };
        Path file = Files.writeString(folder.resolve("token"), "from-a-file\n");
        rebalance(group(), Map.of("optassign.token", new Password("very-secret")), AssignmentError.NONE);
        rebalance(group(), Map.of("optassign.token.file", file.toString()), AssignmentError.NONE);
        rebalance(group(), Map.of("optassign.token", "very-secret with a space"), AssignmentError.NONE);
        rebalance(group(), Map.of("optassign.url", "http://user:very-secret@host"), AssignmentError.NONE);
        assertEquals("Bearer from-a-file", service.headers.get(1).getFirst("Authorization"));
        assertEquals(2, service.bodies.size());
        for (String line : log.all()) {
            assertFalse(line.contains("very-secret") || line.contains("from-a-file"), line);
        }
    }

    /** KIP-924 asks assignors to rethrow this exception, so that Kafka tries again with lags. */
    @Test
    void failureToComputeLagsIsRethrown() {
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        ApplicationState state = withoutLags(group(), new TaskAssignmentException("no lags"));
        TaskAssignmentException thrown = assertThrows(TaskAssignmentException.class, () -> assignor.assign(state));
        assertEquals("no lags", thrown.getMessage());
        assertEquals(0, log.warnings().size());
    }

    @Test
    void unreadableStateKeepsTasksOnTheirOwners() {
        StreamsTestGroup group = group();
        group.tasks(2, 1, StreamsTestGroup.Kind.LOGGED, 100).holds(1, "2_0", 7);
        TaskAssignment assignment =
                new OptassignTaskAssignor().assign(withoutLags(group, new IllegalStateException("a bug")));
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2, "2_0", 2), Assignments.owners(assignment));
        assertEquals(2, assignment.assignment().size());
        assertEquals(1, log.warnings().size());
    }

    private static ApplicationState withoutLags(StreamsTestGroup group, RuntimeException failure) {
        ApplicationState state = group.state();
        return new ApplicationState() {
            @Override
            public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
                if (computeTaskLags) {
                    throw failure;
                }
                return state.kafkaStreamsStates(false);
            }

            @Override
            public AssignmentConfigs assignmentConfigs() {
                return state.assignmentConfigs();
            }

            @Override
            public Map<TaskId, TaskInfo> allTasks() {
                return state.allTasks();
            }
        };
    }

    /**
     * The fallback gives a standby to a task that Kafka calls stateless although it has a lag, and Kafka's validation
     * refuses that.
     */
    @Test
    void refusedAnswerOfTheFallbackKeepsTasksOnTheirOwners() {
        StreamsTestGroup group = group();
        group.standbys = 1;
        group.tasks(2, 1, StreamsTestGroup.Kind.STATELESS, 0).runs(1, "2_0");
        group.ends.put("2_0", 100L);
        TaskAssignment assignment = new OptassignTaskAssignor().assign(group.state());
        assertEquals(AssignmentError.NONE, TaskAssignmentUtils.validateTaskAssignment(group.state(), assignment));
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2, "2_0", 2), Assignments.owners(assignment));
        assertEquals(1, log.warnings().size());
        assertWarned("fallback: the planner failed");
    }

    @Test
    void errorsThatLeaveTheJvmUnusableAreRethrown() {
        assertThrows(OutOfMemoryError.class, () -> OptassignTaskAssignor.rethrowFatal(new OutOfMemoryError()));
        OptassignTaskAssignor.rethrowFatal(new StackOverflowError());
        OptassignTaskAssignor.rethrowFatal(new NoClassDefFoundError());
    }

    /** In a rolling upgrade the configuration may be newer than the jar. */
    @Test
    void unknownKeyIsLoggedOnceAndIgnored() {
        for (int i = 0; i < 2; i++) {
            rebalance(group(), Map.of("optassign.zzz", "new"), AssignmentError.NONE);
        }
        assertEquals(2, service.bodies.size());
        assertEquals(1, log.warnings().size(), log.all().toString());
        assertWarned("Unknown configuration optassign.zzz; allowed: optassign.application");
    }
}
