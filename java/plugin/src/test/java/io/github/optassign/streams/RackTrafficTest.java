package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.testing.StreamsTestGroup;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;
import org.junit.jupiter.api.Test;

/** Reads across racks, compared with the costs of Kafka's RackAwareTaskAssignor. */
class RackTrafficTest {
    private static final String[] RACKS = {"r1", "r2", "r3"};

    private final Map<TaskId, Set<TopicPartition>> sources = new HashMap<>();
    private final Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
    private final Map<TopicPartition, Set<String>> racks = new HashMap<>();

    /**
     * Returns a group whose tasks have one to three source partitions, one of which may be a changelog too, and one or
     * two changelogs.
     */
    private StreamsTestGroup group(Random random) {
        StreamsTestGroup group =
                StreamsTestGroup.of(2 + random.nextInt(4)).tasks(0, 6, StreamsTestGroup.Kind.LOGGED, 100);
        group.standbys = 1;
        group.rackStrategy = "min_traffic";
        group.processes().forEach(client -> client.rack = Optional.of(RACKS[random.nextInt(RACKS.length)]));
        for (int number = 0; number < 6; number++) {
            TaskId task = TaskId.parse("0_" + number);
            Set<TaskTopicPartition> partitions = new HashSet<>();
            int count = 1 + random.nextInt(3);
            for (int i = 0; i < count; i++) {
                boolean isBoth = i == 0 && random.nextInt(4) == 0;
                partitions.add(newPartition(task, new TopicPartition("in" + i, number), true, isBoth, random));
            }
            for (int i = random.nextInt(2); i < 2; i++) {
                partitions.add(newPartition(task, new TopicPartition("log" + i, number), false, true, random));
            }
            group.partitions.put(task.toString(), partitions);
        }
        return group;
    }

    private TaskTopicPartition newPartition(
            TaskId task, TopicPartition partition, boolean isSource, boolean isChangelog, Random random) {
        Set<String> found = new HashSet<>(Set.of(RACKS[random.nextInt(RACKS.length)]));
        found.add(RACKS[random.nextInt(RACKS.length)]);
        racks.put(partition, found);
        if (isSource) {
            sources.computeIfAbsent(task, none -> new HashSet<>()).add(partition);
        }
        if (isChangelog) {
            changelogs.computeIfAbsent(task, none -> new HashSet<>()).add(partition);
        }
        DefaultTaskTopicPartition made = new DefaultTaskTopicPartition(partition, isSource, isChangelog, () -> {});
        made.annotateWithRackIds(found);
        return made;
    }

    @Test
    void bothRolesCountAsKafkaCounts() throws Exception {
        int[] sums = new int[2];
        for (int seed = 0; seed < 200; seed++) {
            sources.clear();
            changelogs.clear();
            racks.clear();
            StreamsTestGroup group = group(new Random(seed));
            StreamsGroup read = group.read();
            RackTraffic traffic = Racks.toTraffic(read, Racks.find(read, System.nanoTime() + 60_000_000_000L));
            assertTrue(traffic.matters(), "seed " + seed);
            RackAwareTaskAssignor kafka = newKafkaAssignor(group);
            Snapshot snapshot = read.snapshot();
            for (int t = 0; t < snapshot.taskCount(); t++) {
                TaskId task = TaskId.parse(snapshot.taskName(t));
                for (int c = 0; c < snapshot.clientCount(); c++) {
                    ProcessId client = read.state(c).processId();
                    String where = "seed " + seed + " task " + task + " client " + c;
                    assertEquals(measure(kafka, task, client, false), traffic.crossingsOfActive(t, c), where);
                    assertEquals(measure(kafka, task, client, true), traffic.crossingsOfStandby(t, c), where);
                    sums[0] += traffic.crossingsOfActive(t, c);
                    sums[1] += traffic.crossingsOfStandby(t, c);
                }
            }
        }
        assertTrue(sums[0] > 1_000 && sums[1] > 1_000 && sums[0] != sums[1], sums[0] + " and " + sums[1]);
    }

    /** Returns Kafka's class with the racks for which it would ask the brokers. */
    private RackAwareTaskAssignor newKafkaAssignor(StreamsTestGroup group) throws Exception {
        Map<ProcessId, Map<String, Optional<String>>> ofClients = new HashMap<>();
        group.processes().forEach(client -> ofClients.put(client.id(), Map.of("consumer", client.rack)));
        RackAwareTaskAssignor kafka = new RackAwareTaskAssignor(
                new Cluster("c", List.of(), List.of(), Set.of(), Set.of()),
                sources,
                changelogs,
                Map.of(),
                ofClients,
                null,
                group.state().assignmentConfigs(),
                Time.SYSTEM);
        Field known = RackAwareTaskAssignor.class.getDeclaredField("racksForPartition");
        known.setAccessible(true);
        @SuppressWarnings("unchecked")
        Map<TopicPartition, Set<String>> map = (Map<TopicPartition, Set<String>>) known.get(kafka);
        map.putAll(racks);
        return kafka;
    }

    /** Returns Kafka's cost of a copy: 1 for each partition read across racks, and 0 for a move. */
    private static int measure(RackAwareTaskAssignor kafka, TaskId task, ProcessId client, boolean isStandby)
            throws Exception {
        Method cost = RackAwareTaskAssignor.class.getDeclaredMethod(
                "getCost", TaskId.class, ProcessId.class, boolean.class, int.class, int.class, boolean.class);
        cost.setAccessible(true);
        return (int) cost.invoke(kafka, task, client, true, 1, 0, isStandby);
    }

    /** As in Kafka, traffic is unknown if a client has no rack, or a task's input has no known replica. */
    @Test
    void allRacksOrNone() throws Exception {
        StreamsTestGroup group = group(new Random(1));
        group.client(0).rack = Optional.empty();
        StreamsGroup read = group.read();
        assertFalse(Racks.toTraffic(read, Racks.find(read, System.nanoTime() + 60_000_000_000L))
                .matters());
        group.client(0).rack = Optional.of("r1");
        read = group.read();
        List<List<Racks.Partition>> partitions = new ArrayList<>(Racks.find(read, System.nanoTime() + 60_000_000_000L));
        assertTrue(Racks.toTraffic(read, partitions).matters());
        partitions.set(0, List.of(new Racks.Partition("in", 0, true, false, Set.of())));
        assertFalse(Racks.toTraffic(read, partitions).matters());
    }
}
