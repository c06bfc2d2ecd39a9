package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.github.optassign.learn.Memories;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.provider.FileConfigProvider;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Without a configured service the planner answers, which is no failure. */
class WithoutServiceTest {
    private final LogLines log = new LogLines(OptassignTaskAssignor.class);

    @BeforeEach
    void forget() {
        Memories.clearAll();
    }

    @AfterEach
    void close() {
        log.close();
    }

    private static TaskAssignment rebalance(String application, StreamsTestGroup group, Map<String, ?> more) {
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        Map<String, Object> configs = new HashMap<>(Map.of("application.id", application));
        configs.putAll(more);
        assignor.configure(configs);
        TaskAssignment assignment = assignor.assign(group.state());
        assignor.onAssignmentComputed(null, null, AssignmentError.NONE);
        return assignment;
    }

    /** KAFKA-4969: an instance with the same number of tasks has more work. */
    @Test
    void tasksAreBalancedByWeight() {
        for (String weights : List.of("changelog", "0_0:3")) {
            StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 4, StreamsTestGroup.Kind.LOGGED, 2_000);
            group.ends.put("0_0", 6_000L);
            group.runs(0, "0_0", "0_1").runs(1, "0_2", "0_3");
            String named = "orders-" + weights.charAt(0);
            Map<String, Integer> counted = Assignments.owners(rebalance(named, group, Map.of()));
            assertEquals(Map.of("0_0", 1, "0_1", 1, "0_2", 2, "0_3", 2), counted, "even numbers stay");
            Map<String, Integer> owners =
                    Assignments.owners(rebalance(named, group, Map.of("optassign.weights", weights)));
            assertEquals(Map.of("0_0", 1, "0_1", 2, "0_2", 2, "0_3", 2), owners, weights);
        }
    }

    @Test
    void weightsMayBeInAFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("weights.properties"), "tasks=0_0:3\n");
        StreamsConfig resolved = new StreamsConfig(Map.of(
                "application.id", "filed",
                "bootstrap.servers", "localhost:1",
                "config.providers", "file",
                "config.providers.file.class", FileConfigProvider.class.getName(),
                "optassign.weights", "${file:" + file + ":tasks}"));
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 4, StreamsTestGroup.Kind.LOGGED, 2_000);
        group.runs(0, "0_0", "0_1").runs(1, "0_2", "0_3");
        Map<String, Integer> owners = Assignments.owners(rebalance("filed", group, resolved.originals()));
        assertEquals(Map.of("0_0", 1, "0_1", 2, "0_2", 2, "0_3", 2), owners);
    }

    /** Returns a group of six tasks on two clients, and a third client without tasks. */
    private static StreamsTestGroup growing() {
        StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 6, StreamsTestGroup.Kind.LOGGED, 1_000_000);
        group.runs(0, "0_0", "0_1", "0_2").runs(1, "0_3", "0_4", "0_5");
        return group;
    }

    /** Applies an assignment: actives run, all other copies are restored. */
    private static void settle(StreamsTestGroup group, TaskAssignment assignment) {
        for (KafkaStreamsAssignment ofClient : assignment.assignment()) {
            StreamsTestGroup.Client client = group.processes().stream()
                    .filter(each -> each.id().equals(ofClient.processId()))
                    .findFirst()
                    .orElseThrow();
            int index = group.clients.indexOf(client);
            client.active.clear();
            client.lags.clear();
            ofClient.tasks().forEach((task, assigned) -> {
                if (assigned.type() == KafkaStreamsAssignment.AssignedTask.Type.ACTIVE) {
                    client.standby.remove(task.toString());
                    group.runs(index, task.toString());
                } else {
                    group.holds(index, task.toString(), 0);
                }
            });
        }
    }

    @Test
    void aGroupGrowsFollowUpByFollowUp() {
        StreamsTestGroup group = growing();
        TaskAssignment assignment = rebalance("grows", group, Map.of());
        assertTrue(
                Assignments.findFollowup(assignment).orElseThrow().compareTo(Duration.ofSeconds(5)) < 0,
                "the first look at restore rates comes soon");
        int rebalances = 1;
        while (Assignments.findFollowup(assignment).isPresent()) {
            settle(group, assignment);
            assignment = rebalance("grows", group, Map.of());
            rebalances++;
            assertTrue(rebalances < 10, "comes to rest");
        }
        settle(group, assignment);
        assertEquals(
                List.of(2, 2, 2),
                group.clients.stream().map(client -> client.active.size()).toList());
        assertEquals(
                rebalances,
                log.infos().stream()
                        .filter(line -> line.contains("answered_by=planner"))
                        .count());
        assertEquals(List.of(), log.warnings());
        assertEquals(List.of(), log.of(Level.ERROR));
    }

    @Test
    void theAnsweringPlannerIsLoggedOnce() {
        rebalance("said", StreamsTestGroup.ofThreeTasks(), Map.of());
        rebalance("said", StreamsTestGroup.ofThreeTasks(), Map.of());
        List<String> lines = log.infos().stream()
                .filter(line -> line.contains("no optassign.url"))
                .toList();
        assertEquals(1, lines.size(), log.infos().toString());
        assertTrue(lines.get(0).contains("application=said"), lines.get(0));
        assertTrue(lines.get(0).contains("the planner in this JVM answers every rebalance"), lines.get(0));
        assertTrue(lines.get(0).contains("the service would add plans proven optimal"), lines.get(0));
        assertEquals(
                2,
                log.infos().stream()
                        .filter(line -> line.contains("round_trip_ms=none"))
                        .count());
    }

    @Test
    void followupsByIntervalIfConfigured() {
        TaskAssignment assignment = rebalance("interval", growing(), Map.of("optassign.followup", "interval"));
        Duration delay = Assignments.findFollowup(assignment).orElseThrow();
        assertTrue(delay.compareTo(Duration.ofMinutes(9)) > 0, delay.toString());
    }

    /** Without a service there is no comparison, so shadow mode is invalid. */
    @Test
    void shadowModeNeedsAService() {
        TaskAssignment assignment =
                rebalance("shadowed", StreamsTestGroup.ofThreeTasks(), Map.of("optassign.mode", "shadow"));
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(assignment));
        assertTrue(
                log.of(Level.ERROR).get(0).contains("Found optassign.mode=shadow without optassign.url"),
                log.all().toString());
    }

    @Test
    void keysThatOnlyAServiceUsesAreIgnoredWithAWarning() {
        rebalance("heavy", StreamsTestGroup.ofThreeTasks(), Map.of("optassign.options.standby.load", "0.5"));
        assertEquals(1, log.warnings().size());
        assertTrue(
                log.warnings().get(0).contains("Found optassign.options.standby.load without optassign.url"),
                log.warnings().get(0));
        assertFalse(log.infos().isEmpty());
    }
}
