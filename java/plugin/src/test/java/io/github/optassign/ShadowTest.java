package io.github.optassign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.optassign.reports.Reporter;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.LogLines;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In shadow mode the group runs as it would without the plug-in, and the service gets a report afterwards. */
class ShadowTest extends AgainstAService {
    private static final Map<String, String> SHADOW = Map.of("optassign.mode", "shadow");

    private TaskAssignor.TaskAssignment rebalance(StreamsTestGroup group, Map<String, ?> more) {
        Map<String, Object> configs = new HashMap<>(SHADOW);
        configs.putAll(more);
        return rebalance(group, configs, TaskAssignor.AssignmentError.NONE);
    }

    /** Waits for the report of a rebalance, counted from 0. */
    private JsonNode report(int number) throws IOException {
        service.awaitReports(number + 1);
        return JSON.readTree(service.reports.get(number));
    }

    /**
     * Calls Kafka's own class as Kafka's code does.
     *
     * @return whether it asks for a follow-up
     */
    private static boolean askKafka(StreamsTestGroup group, Map<ProcessId, ClientState> states) {
        for (StreamsTestGroup.Client client : group.processes()) {
            states.put(
                    client.id(),
                    new ClientState(
                            StreamsTestGroup.ids(client.active),
                            StreamsTestGroup.ids(client.standby),
                            group.lags(client),
                            client.tags,
                            client.threads,
                            client.id()));
        }
        AssignmentConfigs configs = group.state().assignmentConfigs();
        RackAwareTaskAssignor noRacks = new RackAwareTaskAssignor(
                Cluster.empty(), Map.of(), Map.of(), Map.of(), null, null, configs, Time.SYSTEM);
        return new HighAvailabilityTaskAssignor()
                .assign(
                        states,
                        StreamsTestGroup.ids(group.tasks.keySet()),
                        StreamsTestGroup.ids(group.ends.keySet()),
                        noRacks,
                        configs);
    }

    private static Set<TaskId> select(KafkaStreamsAssignment client, AssignedTask.Type type) {
        Set<TaskId> tasks = new TreeSet<>();
        client.tasks().values().stream().filter(task -> task.type() == type).forEach(task -> tasks.add(task.id()));
        return tasks;
    }

    @Test
    void kafkasOwnDefaultRunsTheGroup() {
        int followups = 0;
        int checked = 0;
        for (int seed = 0; seed < 300; seed++) {
            StreamsTestGroup group = StreamsTestGroup.random(new Random(seed));
            boolean known = group.clients.stream().allMatch(c -> !c.lags.containsValue(-3L));
            Map<ProcessId, ClientState> expected = new TreeMap<>();
            boolean followup = askKafka(group, expected);
            TaskAssignor.TaskAssignment found = rebalance(group, Map.of());
            if (!known) {
                continue; // FallbackPriorTaskAssignor may have been asked
            }
            checked++;
            followups += followup ? 1 : 0;
            assertEquals(expected.size(), found.assignment().size());
            for (KafkaStreamsAssignment client : found.assignment()) {
                ClientState state = expected.get(client.processId());
                assertEquals(state.activeTasks(), select(client, AssignedTask.Type.ACTIVE), "seed " + seed);
                assertEquals(state.standbyTasks(), select(client, AssignedTask.Type.STANDBY), "seed " + seed);
            }
            assertEquals(
                    followup,
                    found.assignment().stream()
                            .anyMatch(c -> c.followupRebalanceDeadline().isPresent()),
                    "seed " + seed);
        }
        assertEquals(List.of(), log.warnings());
        assertEquals(0, service.bodies.size(), "no thread waits for the service");
        assertTrue(checked > 200 && followups > 20 && followups < checked - 20, followups + " of " + checked);
    }

    /**
     * Kafka's class asks a broker for racks; here the racks that Kafka has given the plug-in replace the broker's
     * answers.
     */
    @Test
    void racksAreTakenIntoAccount() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 4, StreamsTestGroup.Kind.LOGGED, 100);
        group.client(0).rack = Optional.of("a");
        group.client(1).rack = Optional.of("b");
        group.standbys = 1;
        group.tasks.keySet().forEach(task -> {
            int number = TaskId.parse(task).partition();
            Set<TaskTopicPartition> partitions = new HashSet<>();
            for (String topic : List.of("in", "changelog")) {
                DefaultTaskTopicPartition partition = new DefaultTaskTopicPartition(
                        new TopicPartition(topic, number), topic.equals("in"), !topic.equals("in"), () -> {});
                partition.annotateWithRackIds(Set.of(number % 2 == 0 ? "b" : "a"));
                partitions.add(partition);
            }
            group.partitions.put(task, partitions);
        });
        assertEquals(Map.of("0_0", 1, "0_1", 2, "0_2", 1, "0_3", 2), Assignments.owners(rebalance(group, Map.of())));
        group.rackStrategy = "min_traffic";
        assertEquals(Map.of("0_0", 2, "0_1", 1, "0_2", 2, "0_3", 1), Assignments.owners(rebalance(group, Map.of())));
        group.partitions.values().forEach(partitions -> partitions.clear());
        assertEquals(Map.of("0_0", 1, "0_1", 2, "0_2", 1, "0_3", 2), Assignments.owners(rebalance(group, Map.of())));
        assertEquals(
                2,
                report(1).get("snapshot").get("tasks").get(0).get("partitions").size());
        assertEquals(List.of(), log.warnings());
    }

    /** Without end offsets tasks stay on their owners and a follow-up is due, as in Kafka. */
    @Test
    void withoutEndOffsetsTasksStay() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 4, StreamsTestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0", "0_1", "0_2");
        group.clients.forEach(client -> group.tasks.keySet().forEach(task -> client.lags.putIfAbsent(task, -3L)));
        group.holds(1, "0_3", -3);
        TaskAssignor.TaskAssignment found = rebalance(group, Map.of());
        assertEquals(Map.of("0_0", 1, "0_1", 1, "0_2", 1, "0_3", 2), Assignments.owners(found));
        assertEquals(
                600_000,
                report(0)
                        .get("applied")
                        .get("clients")
                        .get(0)
                        .get("followup_rebalance_ms")
                        .asLong());
    }

    @Test
    void logAndReportNameTheAppliedAnswer() throws IOException {
        service.reporting = (exchange, body) -> """
            {"recorded": true, "applied": {"assignor": "kafka-high-availability", "moved_active": 1, "restored": 100,
             "warmups": 1, "balanced": true, "followup_ms": null, "x_new": [1]},
             "not_applied": {"assignor": "cp-sat", "in_time": false, "moved_active": 0, "restored": 7, "warmups": 0,
             "balanced": true}}""";
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 100_000);
        group.runs(0, "0_0", "0_1");
        try (LogLines later = new LogLines(Reporter.class, "would have been (cp-sat, not in time)")) {
            TaskAssignor.TaskAssignment found = rebalance(group, Map.of());
            assertEquals(Map.of("0_0", 1, "0_1", 1), Assignments.owners(found));
            assertEquals(1, log.rebalances().size());
            assertContains(
                    "application=orders shadow: tasks=2 clients=2 answered_by=kafka-high-availability active_moved=0 "
                            + "warmups=1 followup_ms=600000 total_ms=",
                    log.rebalances().get(0));
            JsonNode report = report(0);
            assertEquals("orders", report.get("application").asText());
            assertEquals("shadow mode", report.get("why").asText());
            assertEquals(2, report.get("snapshot").get("tasks").size());
            JsonNode applied = report.get("applied");
            assertEquals("kafka-high-availability", applied.get("assignor").asText());
            JsonNode second = applied.get("clients").get(1);
            assertEquals(
                    "[[],[],[\"0_1\"]]",
                    List.of(second.get("active"), second.get("standby"), second.get("warmup"))
                            .toString()
                            .replace(" ", ""));
            assertEquals("[\"0_1\"]", applied.get("plan").get(1).get("active").toString(), "where it is going");
            var headers = service.reportHeaders.get(0);
            assertEquals("shadow", headers.getFirst("Optassign-Mode"));
            assertTrue(headers.getFirst("Optassign-Rebalance").matches("[A-Za-z0-9._-]{1,64}"));
            assertTrue(Long.parseLong(headers.getFirst("Optassign-Applied-At")) > 1_700_000_000_000L);
            assertTrue(Long.parseLong(headers.getFirst("Optassign-Age-Ms")) < 60_000);
            assertTrue(Long.parseLong(headers.getFirst("Optassign-Deadline-Ms")) <= 60_000);
            Awaiting.until(() -> !later.infos().isEmpty(), () -> "no line");
            assertTrue(
                    later.infos()
                            .get(0)
                            .endsWith("applied (kafka-high-availability): active_moved=1 restored=100 warmups=1 "
                                    + "balanced=true; would have been (cp-sat, not in time): active_moved=0 restored=7 "
                                    + "warmups=0 balanced=true"),
                    later.infos().get(0));
        }
        rebalance(group, Map.of());
        JsonNode remembered = report(1).get("snapshot").get("remembered");
        assertEquals("kafka-high-availability", remembered.get("assignor").asText(), "what was applied");
        assertEquals(
                service.reportHeaders.get(0).getFirst("Optassign-Applied-At"),
                service.reportHeaders.get(1).getFirst("Optassign-Remembered-At"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "kafka-sticky",
                "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
            })
    void theChoiceIsAKey(String choice) throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 9, StreamsTestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0", "0_1", "0_2", "0_3", "0_4");
        StickyTaskAssignor sticky = new StickyTaskAssignor();
        sticky.configure(Map.of());
        assertEquals(
                Assignments.owners(sticky.assign(group.state())),
                Assignments.owners(rebalance(group, Map.of("optassign.shadow.assignor", choice))));
        assertContains("answered_by=" + choice + " ", log.rebalances().get(0));
        assertEquals(choice, report(0).get("applied").get("assignor").asText());
    }

    @Test
    void theFallbackMayBeChosen() throws IOException {
        assertEquals(
                Map.of("0_0", 1, "0_1", 2, "1_0", 2),
                Assignments.owners(rebalance(group(), Map.of("optassign.shadow.assignor", "fallback"))));
        assertEquals(List.of(), log.warnings());
        assertTrue(log.rebalances().get(0).contains("shadow: tasks=3 clients=2 answered_by=fallback"));
        assertEquals("shadow mode", report(0).get("why").asText());
    }

    /** An assignor of the application, which records its calls. */
    public static final class Own implements TaskAssignor {
        static int mode;
        static Map<String, ?> configs;
        static AssignmentError outcome;

        @Override
        public void configure(Map<String, ?> given) {
            configs = given;
        }

        @Override
        public TaskAssignment assign(ApplicationState state) {
            if (mode == 1) {
                throw new IllegalStateException("no\nluck");
            }
            if (mode == 2) {
                throw new NoSuchMethodError("changed");
            }
            List<ProcessId> clients =
                    List.copyOf(new TreeSet<>(state.kafkaStreamsStates(false).keySet()));
            Set<AssignedTask> all = new HashSet<>();
            state.allTasks().keySet().forEach(task -> all.add(new AssignedTask(task, AssignedTask.Type.ACTIVE)));
            if (mode == 3) {
                all.remove(new AssignedTask(TaskId.parse("0_0"), AssignedTask.Type.ACTIVE));
            }
            return new TaskAssignment(List.of(
                    KafkaStreamsAssignment.of(clients.get(0), all),
                    KafkaStreamsAssignment.of(clients.get(1), Set.of())));
        }

        @Override
        public void onAssignmentComputed(
                org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment assignment,
                org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription subscription,
                AssignmentError error) {
            outcome = error;
        }
    }

    private static final Map<String, String> OWN = Map.of("optassign.shadow.assignor", Own.class.getName());

    @Test
    void anAssignorOfTheApplicationsOwnRunsTheGroup() {
        Own.mode = 0;
        Own.outcome = null;
        assertEquals(Map.of("0_0", 1, "0_1", 1, "1_0", 1), Assignments.owners(rebalance(group(), OWN)));
        assertEquals("orders", Own.configs.get("application.id"));
        assertEquals(TaskAssignor.AssignmentError.NONE, Own.outcome);
        assertEquals(List.of(), log.warnings());
    }

    /** An exception of the assignor does not end the leader's thread. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void anAssignorThatFailsIsReplacedByTheFallback(int mode) throws IOException {
        Own.mode = mode;
        assertEquals(Map.of("0_0", 1, "0_1", 2, "1_0", 2), Assignments.owners(rebalance(group(), OWN)));
        assertEquals(1, log.warnings().size());
        String why = Own.class.getName() + ": "
                + List.of(
                                "java.lang.IllegalStateException: no luck",
                                "java.lang.NoSuchMethodError: changed",
                                "found task 0_0 active nowhere; allowed: exactly once")
                        .get(mode - 1);
        assertWarned("fallback: shadow: " + why);
        JsonNode report = report(0);
        assertEquals(why, report.get("why").asText());
        assertEquals("fallback", report.get("applied").get("assignor").asText());
    }

    @Test
    void aServiceThatIsDownIsNoReasonToWaitOrToFallBack() {
        service.close();
        rebalance(group(), Map.of());
        assertEquals(List.of(), log.warnings());
        assertContains("answered_by=kafka-high-availability", log.rebalances().get(0));
        assertFalse(log.rebalances().get(0).contains("fallback"));
    }
}
