package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.github.optassign.learn.ChangelogEnds;
import io.github.optassign.testing.StreamsTestGroup;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Random;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.junit.jupiter.api.Test;

/** Lags read from Kafka's classes. */
class LagReaderTest {
    private static final int GROUPS = 500;

    /** Returns a reader for a group. */
    private static LagReader readerOf(StreamsTestGroup group) {
        ApplicationState state = group.state();
        TaskId[] tasks = state.allTasks().keySet().stream().sorted().toArray(TaskId[]::new);
        KafkaStreamsState[] states = state.kafkaStreamsStates(true).values().stream()
                .sorted(Comparator.comparing(client -> client.processId().toString()))
                .toArray(KafkaStreamsState[]::new);
        BitSet[] listed = Arrays.stream(states)
                .map(client -> {
                    BitSet ofClient = new BitSet();
                    for (int t = 0; t < tasks.length; t++) {
                        boolean isListed = client.previousActiveTasks().contains(tasks[t])
                                || client.previousStandbyTasks().contains(tasks[t]);
                        ofClient.set(t, isListed);
                    }
                    return ofClient;
                })
                .toArray(BitSet[]::new);
        return new LagReader(tasks, states, listed);
    }

    @Test
    void listedTasksGiveAllLags() {
        for (int seed = 0; seed < GROUPS; seed++) {
            StreamsTestGroup group = StreamsTestGroup.random(new Random(seed));
            String where = "seed " + seed + "\n" + group;
            LagReader reader = readerOf(group);
            LagReader.Lags whole = reader.readAll();
            LagReader.Lags listed = reader.readListed();
            assertNotNull(listed, where);
            assertArrayEquals(whole.logged(), listed.logged(), where);
            for (int t = 0; t < whole.logged().length; t++) {
                for (int c = 0; c < group.clients.size(); c++) {
                    assertEquals(whole.lags().of(t, c), listed.lags().of(t, c), where);
                }
            }
        }
    }

    /** A client is caught up on tasks that it does not list, which only a synthetic state allows. */
    @Test
    void everyLagIsReadIfASampleDiffers() {
        StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 4, StreamsTestGroup.Kind.LOGGED, 100);
        group.runs(0, "0_0", "0_1", "0_2", "0_3");
        assertNotNull(readerOf(group).readListed());
        group.ends.keySet().forEach(task -> group.client(1).lags.put(task, 7L));
        assertNull(readerOf(group).readListed());
        assertEquals(7, readerOf(group).readAll().lags().of(0, 1));
    }

    /** The group has more pairs than the limit up to which every lag is read. */
    @Test
    void largeGroupIsReadInFull() {
        StreamsTestGroup group = StreamsTestGroup.of(260).tasks(0, 1_000, StreamsTestGroup.Kind.LOGGED, 100);
        assertEquals(true, 260_000 > LagReader.LAGS_READ_WHOLE);
        for (int client : new int[] {0, 259}) {
            group.ends.keySet().forEach(task -> group.client(client).lags.put(task, 7L));
        }
        var snapshot =
                StreamsGroup.read(group.state(), new ChangelogEnds(), false).snapshot();
        assertEquals(7, snapshot.lag(999, 0));
        assertEquals(100, snapshot.lag(999, 1));
        assertEquals(7, snapshot.lag(999, 259));
    }
}
