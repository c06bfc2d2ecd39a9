package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.learn.ChangelogEnds;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.testing.StreamsTestGroup;
import io.github.optassign.testing.TestGroup;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Snapshots read from Kafka's classes. */
class StreamsGroupTest {
    private static final int GROUPS = 300;

    @Test
    void answersDoNotDependOnTheOrderOfMaps() throws IOException {
        for (int seed = 0; seed < GROUPS; seed++) {
            StreamsTestGroup group = StreamsTestGroup.random(new Random(seed));
            Set<String> answers = new HashSet<>();
            for (int order = 0; order < 3; order++) {
                Snapshot snapshot = StreamsGroup.read(group.state(new Random(order)), new ChangelogEnds(), false)
                        .snapshot();
                RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null, RackTraffic.NONE, Timing.NONE);
                answers.add(AnswerWriter.write(
                        RebalancePlanner.toAnswer(snapshot, result), result.stalled(), result.toBalanceMs()));
            }
            assertEquals(1, answers.size(), "seed " + seed + "\n" + group);
        }
    }

    /** The planner's tests build snapshots without Kafka; the plug-in reads the same snapshots from Kafka's classes. */
    @Test
    void snapshotEqualsThatOfThePlannersTests() {
        for (int seed = 0; seed < GROUPS; seed++) {
            StreamsTestGroup kafkas = StreamsTestGroup.random(new Random(seed));
            TestGroup plain = TestGroup.random(new Random(seed));
            for (TestGroup group : List.of(kafkas, plain)) {
                group.rackTags = List.of("zone");
                Random random = new Random(seed);
                group.clients.forEach(client -> client.tags = Map.of(
                        "zone", "z" + random.nextInt(3),
                        "optassign.capacity", String.valueOf(0.5 + random.nextInt(4)),
                        "optassign.drain", String.valueOf(random.nextInt(6) == 0)));
            }
            assertSame(plain.snapshot(), kafkas.snapshot(), "seed " + seed + "\n" + plain);
        }
    }

    private static void assertSame(Snapshot expected, Snapshot found, String where) {
        assertEquals(expected.clientNames(), found.clientNames(), where);
        assertEquals(expected.taskCount(), found.taskCount(), where);
        for (int c = 0; c < expected.clientCount(); c++) {
            assertEquals(expected.threads(c), found.threads(c), where);
            assertEquals(expected.previousActive(c), found.previousActive(c), where);
            assertEquals(expected.previousStandby(c), found.previousStandby(c), where);
            assertEquals(expected.isDraining(c), found.isDraining(c), where);
            assertEquals(expected.size(c), found.size(c), where);
            assertEquals(expected.tag(c, 0), found.tag(c, 0), where);
        }
        for (int t = 0; t < expected.taskCount(); t++) {
            assertEquals(expected.taskName(t), found.taskName(t), where);
            assertEquals(expected.subtopology(t), found.subtopology(t), where);
            assertEquals(expected.isStateful(t), found.isStateful(t), where);
            assertEquals(expected.isLogged(t), found.isLogged(t), where);
            assertEquals(expected.endOffset(t), found.endOffset(t), where);
            for (int c = 0; c < expected.clientCount(); c++) {
                assertEquals(expected.lag(t, c), found.lag(t, c), where);
            }
        }
    }

    @Test
    void tagsWithTooManyValuesAreReported() {
        StreamsTestGroup group = StreamsTestGroup.of(70);
        group.tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 1_000);
        group.rackTags = List.of("host", "zone");
        for (int c = 0; c < 70; c++) {
            group.client(c).tags = Map.of("host", "host-" + c, "zone", "zone-" + c % 3);
        }
        assertEquals(
                "rack.aware.assignment.tags: the planner in the jar does not spread copies over host, since instances have "
                        + "more than 64 combinations of values",
                String.join("\n", group.read().remarks()));
    }

    @Test
    void tagsWithInvalidValuesAreReported() {
        StreamsTestGroup group = StreamsTestGroup.ofThreeTasks();
        group.client(0).tags = Map.of("optassign.capacity", "much");
        assertEquals(
                "client.tag.optassign.capacity: found much; allowed: a number from 0.000001 to 1000000; taken for 1",
                group.read().remarks().first());
        group.client(0).tags = Map.of("optassign.drain", "soon");
        assertEquals(
                "client.tag.optassign.drain: found soon; allowed: true, false; taken for false",
                group.read().remarks().first());
    }
}
