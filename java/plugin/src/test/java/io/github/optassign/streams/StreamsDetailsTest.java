package io.github.optassign.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.optassign.config.PluginConfig;
import io.github.optassign.config.ServiceOptions;
import io.github.optassign.learn.ChangelogEnds;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.internals.assignment.DefaultTaskTopicPartition;
import org.apache.kafka.streams.state.HostInfo;
import org.junit.jupiter.api.Test;

/** The JSON of snapshots for the service. */
class StreamsDetailsTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00.123456Z");

    private static JsonNode write(StreamsTestGroup group, ChangelogEnds ends) throws IOException {
        return new ObjectMapper().readTree(bytes(StreamsGroup.read(group.state(), ends, false)));
    }

    private static byte[] bytes(StreamsGroup group) throws IOException {
        try {
            List<List<Racks.Partition>> partitions = Racks.find(group, System.nanoTime() + TimeUnit.MINUTES.toNanos(1));
            return SnapshotWriter.write(
                    group.snapshot(),
                    new StreamsDetails(group, ServiceOptions.NONE, partitions, null),
                    "orders",
                    NOON,
                    null);
        } catch (ServiceFailure e) {
            throw new IOException(e);
        }
    }

    private static JsonNode write(StreamsGroup group, ServiceOptions options, long[] sourceEnds) throws IOException {
        StreamsDetails details = new StreamsDetails(group, options, List.of(), sourceEnds);
        return new ObjectMapper().readTree(SnapshotWriter.write(group.snapshot(), details, "orders", NOON, null));
    }

    private static long endOffset(JsonNode snapshot) {
        return snapshot.get("tasks").get(0).get("changelog_end_offset").asLong(-1);
    }

    private static JsonNode json(String text) throws IOException {
        return new ObjectMapper().readTree(text.replace('\'', '"'));
    }

    @Test
    void lagsOfClientsWithoutStateAreLeftOut() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(3)
                .tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 126_000)
                .tasks(1, 1, StreamsTestGroup.Kind.UNLOGGED, 0)
                .tasks(2, 1, StreamsTestGroup.Kind.STATELESS, 0);
        group.runs(0, "0_0", "1_0")
                .runs(1, "0_1", "2_0")
                .holds(2, "0_0", 512)
                .holds(1, "0_0", 126_000)
                .holds(2, "0_1", 126_000);
        JsonNode snapshot = write(group, new ChangelogEnds());
        assertEquals(json("""
            [{'id': '0_0', 'stateful': true, 'logged': true},
             {'id': '0_1', 'stateful': true, 'logged': true, 'changelog_end_offset': 126000},
             {'id': '1_0', 'stateful': true, 'logged': false},
             {'id': '2_0', 'stateful': false, 'logged': false}]"""), snapshot.get("tasks"));
        JsonNode clients = snapshot.get("clients");
        assertEquals(json("{'0_0': -2}"), clients.get(0).get("lags"));
        assertEquals(json("{'0_0': 126000, '0_1': -2}"), clients.get(1).get("lags"));
        assertEquals(
                json("{'0_0': 512, '0_1': 126000}"), clients.get(2).get("lags"), "a directory, so its lag is its own");
        assertEquals(json("['0_1', '2_0']"), clients.get(1).get("previous_active"));
        assertEquals(json("['0_0']"), clients.get(1).get("previous_standby"));
        assertEquals("2026-11-20T12:00:00.123Z", snapshot.get("taken_at").asText());
    }

    @Test
    void firstRebalanceShowsThatThereIsNothingToRestore() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 1, StreamsTestGroup.Kind.LOGGED, 0);
        JsonNode snapshot = write(group, new ChangelogEnds());
        assertEquals(0, endOffset(snapshot));
        assertEquals(json("{}"), snapshot.get("clients").get(0).get("lags"));
    }

    @Test
    void unknownLagsAreMarkedAsUnknown() throws IOException {
        ChangelogEnds ends = new ChangelogEnds();
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 1, StreamsTestGroup.Kind.LOGGED, 900);
        group.runs(0, "0_0");
        write(group, ends);
        group.client(1).lags.put("0_0", -3L);
        JsonNode snapshot = write(group, ends);
        assertEquals(json("{'0_0': -2}"), snapshot.get("clients").get(0).get("lags"));
        assertEquals(json("{'0_0': -3}"), snapshot.get("clients").get(1).get("lags"));
        assertEquals(900, endOffset(snapshot), "as last seen");
    }

    @Test
    void endOffsetFollowsFromKnownLagsOnly() throws IOException {
        ChangelogEnds ends = new ChangelogEnds();
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 1, StreamsTestGroup.Kind.LOGGED, 900);
        group.runs(0, "0_0").holds(1, "0_0", 300);
        assertFalse(write(group, ends).get("tasks").get(0).has("changelog_end_offset"));
        group.client(1).standby.clear();
        group.client(1).lags.clear();
        assertEquals(900, endOffset(write(group, ends)));
        group.ends.put("0_0", Long.MAX_VALUE);
        assertEquals(Long.MAX_VALUE, endOffset(write(group, ends)));
    }

    @Test
    void clientsAndConfigsAreComplete() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(1);
        group.rackTags = List.of("zone", "cluster");
        group.client(0).threads = 3;
        group.client(0).tags = Map.of("zone", "a", "cluster", "\"k\"");
        group.client(0).rack = Optional.of("r1");
        group.client(0).host = Optional.of(new HostInfo("box", 8080));
        group.client(0).consumers.put("orders-a-StreamThread-1-consumer-0b5f", Set.of());
        group.client(0).consumers.put("orders-a-StreamThread-2-consumer-11aa", Set.of());
        JsonNode snapshot = write(group, new ChangelogEnds());
        assertEquals(json("""
            {'acceptable_recovery_lag': 10000, 'max_warmup_replicas': 2, 'num_standby_replicas': 0,
             'probing_rebalance_interval_ms': 600000, 'rack_aware_assignment_strategy': 'none',
             'rack_aware_assignment_tags': ['zone', 'cluster']}"""), snapshot.get("configs"));
        String client = """
            {"process_id": "00000000-0000-0000-0000-000000000001", "threads": 3,
             "previous_active": [], "previous_standby": [], "lags": {},
             "tags": {"cluster": "\\"k\\"", "zone": "a"}, "rack": "r1", "host": "box:8080",
             "client_id": "orders-a"}""";
        assertEquals(
                new ObjectMapper().readTree(client), snapshot.get("clients").get(0));
    }

    /** Kafka's generated id of application.id and process id repeats known fields, so it is omitted. */
    @Test
    void clientIdsAreThoseThatTheApplicationSets() {
        String id = "5e2c0a10-0000-4000-8000-000000000001";
        assertEquals("a-StreamThread-b", clientId("a-StreamThread-b-StreamThread-1-consumer-0b5f", id));
        assertNull(clientId("orders-" + id + "-StreamThread-1-consumer-0b5f", id));
        assertNull(clientId("made-by-another-kafka", id));
        assertNull(clientId("-StreamThread-1-consumer-0b5f", id));
        assertNull(StreamsDetails.findClientId(new TreeSet<>(), id));
        String uuid = "5e2ee0d5-7a4b-4a55-9d3c-3f2f4e0f5a11";
        assertEquals(
                "SA", clientId("SA-1-" + uuid, id), "a static member: group.instance.id, thread, the broker's UUID");
        assertEquals("box-7", clientId("box-7-12-" + uuid, id));
        assertNull(clientId(uuid, id));
    }

    private static String clientId(String consumer, String processId) {
        return StreamsDetails.findClientId(new TreeSet<>(Set.of(consumer)), processId);
    }

    /** Racks cost a call to the broker, so they are read only if racks are used. */
    @Test
    void partitionsOnlyIfRacksAreUsed() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(1).tasks(0, 1, StreamsTestGroup.Kind.STATELESS, 0);
        int[] asked = {0};
        DefaultTaskTopicPartition partition =
                new DefaultTaskTopicPartition(new TopicPartition("in", 0), true, false, () -> asked[0]++);
        partition.annotateWithRackIds(Set.of("r2", "r1"));
        group.partitions.put("0_0", Set.of(partition));
        assertFalse(write(group, new ChangelogEnds()).get("tasks").get(0).has("partitions"));
        assertEquals(0, asked[0]);
        group.rackStrategy = "min_traffic";
        assertEquals(
                json("[{'topic': 'in', 'partition': 0, 'source': true, 'changelog': false, 'racks': ['r1', 'r2']}]"),
                write(group, new ChangelogEnds()).get("tasks").get(0).get("partitions"));
        assertTrue(asked[0] > 0);
    }

    @Test
    void doesNotDependOnTheOrderOfMaps() throws IOException {
        for (int seed = 0; seed < 50; seed++) {
            StreamsTestGroup group = StreamsTestGroup.random(new Random(seed));
            byte[] one = bytes(StreamsGroup.read(group.state(new Random(1)), new ChangelogEnds(), false));
            byte[] two = bytes(StreamsGroup.read(group.state(new Random(2)), new ChangelogEnds(), false));
            assertEquals(new String(one), new String(two), "seed " + seed);
        }
    }

    /** If weights are measured, fixed weights are sent as an option, since they override measured ones. */
    @Test
    void measuredWeights() throws IOException {
        ServiceOptions options = PluginConfig.of(Map.of(
                        "application.id", "orders",
                        "optassign.url", "http://localhost:8924",
                        "optassign.weights", "rates,1:2.5"))
                .options();
        JsonNode snapshot = write(StreamsTestGroup.ofThreeTasks().read(), options, new long[] {7, 0, 9});
        assertEquals(json("{'weigh_by': 'rates', 'task_weights': {'1': 2.5}}"), snapshot.get("options"));
        assertEquals(7, snapshot.get("tasks").get(0).get("source_end_offset").asLong());
        assertEquals(0, snapshot.get("tasks").get(1).get("source_end_offset").asLong());
        assertFalse(snapshot.get("tasks").get(2).has("weight"));
    }

    /** Offload is turned off by a price above anything that it can save. */
    @Test
    void offloadIsTurnedOffByItsPrice() throws IOException {
        ServiceOptions options = PluginConfig.of(Map.of("optassign.url", "http://host:1", "optassign.offload", "off"))
                .options();
        StreamsTestGroup group = StreamsTestGroup.of(2).tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 100);
        assertEquals(
                json("{'relief': {'logged': 1000000000, 'stateless': 1000000000}}"),
                write(group.read(), options, null).get("options"));
    }

    /** Weights and options are sent from keys, capacity and draining from client tags. */
    @Test
    void configurationIsSent() throws IOException {
        StreamsTestGroup group = StreamsTestGroup.of(2)
                .tasks(0, 2, StreamsTestGroup.Kind.LOGGED, 100)
                .tasks(1, 1, StreamsTestGroup.Kind.LOGGED, 5);
        group.client(0).tags = Map.of("optassign.capacity", "2.5", "optassign.draining", "true");
        ServiceOptions options = PluginConfig.of(Map.ofEntries(
                        Map.entry("optassign.url", "http://host:1"),
                        Map.entry("optassign.weights", "0:2.5,0_1:4"),
                        Map.entry("optassign.followup", "interval"),
                        Map.entry("optassign.idle.followup.ms", "0"),
                        Map.entry("optassign.offload", "logged:900"),
                        Map.entry("optassign.options.preset", "weighted"),
                        Map.entry("optassign.options.goals", "load, restore_work"),
                        Map.entry("optassign.options.balance.factor", "3"),
                        Map.entry("optassign.options.load.tolerance", "0.1"),
                        Map.entry("optassign.options.standby.load", "1"),
                        Map.entry("optassign.options.min.gain", "0"),
                        Map.entry("optassign.options.weights.stickiness", "0.5")))
                .options();
        StreamsGroup read = StreamsGroup.read(group.state(), new ChangelogEnds(), options.isBalanceLoose());
        JsonNode snapshot = write(read, options, null);
        assertEquals(json("""
                        {'preset': 'weighted', 'goals': ['load', 'restore_work'], 'balance_factor': 3,
                         'load_tolerance': 0.1, 'standby_load': 1.0, 'min_gain': 0.0, 'followup': 'interval',
                         'idle_followup_ms': 0,
                         'relief': {'logged': 900}, 'weights': {'stickiness': 0.5}}
                        """), snapshot.get("options"));
        assertEquals(2.5, snapshot.get("tasks").get(0).get("weight").asDouble());
        assertEquals(4, snapshot.get("tasks").get(1).get("weight").asDouble());
        assertFalse(snapshot.get("tasks").get(2).has("weight"));
        assertEquals(2.5, snapshot.get("clients").get(0).get("capacity").asDouble());
        assertTrue(snapshot.get("clients").get(0).get("draining").asBoolean());
        assertFalse(snapshot.get("clients").get(1).has("capacity"));
        assertFalse(snapshot.get("clients").get(1).has("draining"));
    }
}
