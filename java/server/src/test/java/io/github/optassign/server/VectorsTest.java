package io.github.optassign.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The planner's shares, ranks and answers for the cases in {@code tests/vectors} are as on file.
 * {@code tests/solving/test_vectors.py} tests the service against the same files.
 */
class VectorsTest {
    private static final Path FOLDER = Path.of("..", "..", "tests", "vectors");
    private static final ObjectMapper JSON = new ObjectMapper();

    static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.filter(file -> file.toString().endsWith(".json"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void thereAreCases() throws IOException {
        assertTrue(files().size() > 10);
    }

    @ParameterizedTest
    @MethodSource("files")
    void answersAsOnFile(Path file) throws Exception {
        JsonNode vector = JSON.readTree(file.toFile());
        JsonNode answer = JSON.readTree(PlannerServer.answer(vector.get("snapshot"), new SnapshotWeights()))
                .get("answer");
        assertEquals(
                JSON.convertValue(vector.get("takeovers"), List.class), countTakeovers(answer), file + ": takeovers");
        if (!vector.has("answer")) {
            return;
        }
        JsonNode expected = vector.get("answer");
        assertAlike(expected.get("clients"), answer.get("clients"), file + ": clients");
        assertAlike(expected.get("plan"), answer.path("plan"), file + ": plan");
        for (String name : List.of("to_balance_ms", "warmup_progress", "pace", "stalled")) {
            assertAlike(expected.get("report").path(name), answer.get("report").path(name), file + ": report." + name);
        }
    }

    @ParameterizedTest
    @MethodSource("files")
    void sharesAndRanksAreAsOnFile(Path file) throws Exception {
        JsonNode vector = JSON.readTree(file.toFile());
        Snapshot snapshot = PlannerServer.read(vector.get("snapshot"));
        int logged = 0;
        Ranks ranks = snapshot.ranks();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            logged += snapshot.isLogged(t) ? 1 : 0;
            for (int c = 0; c < snapshot.clientCount() && snapshot.isLogged(t); c++) {
                JsonNode rank = vector.get("ranks").get(snapshot.taskName(t)).get(snapshot.clientName(c));
                assertEquals(rank.asLong(), ranks.rank(t, c), file + ": rank of " + snapshot.taskName(t));
            }
        }
        assertShares(vector.get("shares").get("active"), Shares.of(snapshot.taskCount(), 1, snapshot), snapshot);
        Shares copies = Shares.of(logged, snapshot.standbysPerTask() + 1, snapshot);
        assertShares(vector.get("shares").get("copies"), copies, snapshot);
    }

    /**
     * Returns for each ordered pair of clients the number of tasks that one takes over if the other dies, without
     * zeros, in ascending order.
     */
    private static List<Integer> countTakeovers(JsonNode answer) {
        Map<String, String> holders = new HashMap<>();
        for (JsonNode client : answer.get("clients")) {
            String name = client.get("process_id").asText();
            client.path("active").forEach(task -> holders.put(task.asText(), name));
        }
        Map<String, Integer> pairs = new HashMap<>();
        for (JsonNode client : answer.get("clients")) {
            String name = client.get("process_id").asText();
            client.path("standby")
                    .forEach(task -> pairs.merge(holders.get(task.asText()) + " " + name, 1, Integer::sum));
        }
        return pairs.values().stream().sorted().toList();
    }

    private static void assertShares(JsonNode expected, Shares found, Snapshot snapshot) {
        for (int c = 0; c < snapshot.clientCount(); c++) {
            JsonNode share = expected.get(snapshot.clientName(c));
            assertEquals(share.get(0).asLong(), found.low()[c]);
            assertEquals(share.get(1).asLong(), found.high()[c]);
        }
    }

    /** Asserts equal values. A missing value equals an empty one, zero or false, and times are compared as instants. */
    private static void assertAlike(JsonNode expected, JsonNode found, String place) {
        if (expected.isObject() && found.isObject()) {
            TreeSet<String> names = new TreeSet<>();
            expected.fieldNames().forEachRemaining(names::add);
            found.fieldNames().forEachRemaining(names::add);
            names.forEach(name -> assertAlike(expected.path(name), found.path(name), place + "." + name));
        } else if (expected.isArray() && found.isArray()) {
            assertEquals(expected.size(), found.size(), place);
            for (int i = 0; i < expected.size(); i++) {
                assertAlike(expected.get(i), found.get(i), place + "[" + i + "]");
            }
        } else if (!isEmpty(expected) || !isEmpty(found)) {
            assertEquals(normalise(expected), normalise(found), place);
        }
    }

    private static boolean isEmpty(JsonNode node) {
        return node.isMissingNode()
                || node.isNull()
                || (node.isContainerNode() && node.isEmpty())
                || (node.isNumber() && node.asLong() == 0)
                || (node.isBoolean() && !node.asBoolean());
    }

    private static String normalise(JsonNode node) {
        boolean isTime = node.isTextual() && node.asText().matches("\\d{4}-.*T.*Z");
        return isTime ? Instant.parse(node.asText()).toString() : node.asText(node.toString());
    }
}
