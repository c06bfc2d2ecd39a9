package io.github.optassign;

import static io.github.optassign.testing.SixTasks.EVEN;
import static io.github.optassign.testing.SixTasks.NEVER;
import static io.github.optassign.testing.SixTasks.ODD;
import static io.github.optassign.testing.SixTasks.answer;
import static io.github.optassign.testing.SixTasks.client;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.FakeService;
import io.github.optassign.testing.SixTasks;
import io.github.optassign.testing.StreamsTestGroup;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.junit.jupiter.api.Test;

/** The line of a rebalance names the reason for its follow-up. */
class FollowupReasonTest extends AgainstAService {
    private static final Pattern REASON = Pattern.compile(" waits_for=(\\w+)");
    private static final Map<String, Object> WITHOUT_SERVICE = withoutService();

    private static Map<String, Object> withoutService() {
        Map<String, Object> configs = new HashMap<>();
        configs.put("optassign.url", null);
        return configs;
    }

    /**
     * Runs a rebalance.
     *
     * @return the reason in its line, or "none"
     */
    private String findReason(StreamsTestGroup group, Map<String, ?> more) {
        rebalance(group, more, AssignmentError.NONE);
        Matcher matcher = REASON.matcher(log.rebalances().get(log.rebalances().size() - 1));
        return matcher.find() ? matcher.group(1) : "none";
    }

    private static StreamsTestGroup growing() {
        StreamsTestGroup group = StreamsTestGroup.of(3).tasks(0, 6, StreamsTestGroup.Kind.LOGGED, 1_000_000);
        return group.runs(0, "0_0", "0_1", "0_2").runs(1, "0_3", "0_4", "0_5");
    }

    @Test
    void copiesOfThePlanner() {
        assertEquals("copies_first_look", findReason(growing(), WITHOUT_SERVICE));
        Map<String, Object> byInterval = new HashMap<>(WITHOUT_SERVICE);
        byInterval.put("optassign.followup", "interval");
        assertEquals("copies_by_interval", findReason(growing(), byInterval));
    }

    @Test
    void nothingAtRest() {
        assertEquals("none", findReason(group(), WITHOUT_SERVICE));
    }

    @Test
    void unknownLags() {
        StreamsTestGroup group = group();
        group.holds(0, "0_1", -3);
        assertEquals("unknown_lags", findReason(group, WITHOUT_SERVICE));
    }

    @Test
    void aServiceWithoutAnAnswer() {
        service.behaviour = FakeService::refuse;
        assertEquals("service", findReason(group(), Map.of()));
    }

    @Test
    void reasonsOfTheService() {
        String clients = client(1, EVEN, ODD, "", 60_000L) + "," + client(2, ODD, EVEN, "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        service.behaviour = (exchange, body) -> answer(clients);
        assertEquals("operator", findReason(SixTasks.group(), Map.of()));

        String plan = client(1, "0_0,0_2", ODD, "", NEVER) + "," + client(2, ODD, EVEN, "", NEVER) + ","
                + client(3, "0_4", "", "", NEVER);
        service.behaviour = (exchange, body) -> withMore(clients, "\"plan\": [" + plan + "]");
        assertEquals("moves", findReason(SixTasks.group(), Map.of()));

        String third = "00000000-0000-0000-0000-000000000003";
        String copy = "\"warmup_progress\": [{\"task\": \"0_4\", \"process_id\": \"" + third
                + "\", \"lag\": 9, \"answers_without_progress\": 0}]";
        String pace = "\"pace\": {\"taken_at\": \"2026-06-01T00:00:00Z\", \"clients\": [{\"process_id\": \"" + third
                + "\", \"offsets\": 5000, \"ms\": 1000, \"evidence\": \"steady\"}], \"looks\": 0}";
        service.behaviour = (exchange, body) -> withMore(clients, "\"report\": {" + copy + "," + pace + "}");
        assertEquals("copies_by_rate", findReason(SixTasks.group(), Map.of()));
        service.behaviour = (exchange, body) -> withMore(clients, "\"report\": {" + copy + "}");
        assertEquals("copies_by_interval", findReason(SixTasks.group(), Map.of()));
    }

    private static String withMore(String clients, String more) {
        String whole = answer(clients);
        return whole.substring(0, whole.length() - 1) + ", " + more + "}";
    }

    @Test
    void followUpsWithoutProgress() {
        String soon = answer(
                client(1, EVEN, ODD, "", 30_000L), client(2, ODD, EVEN, "", NEVER), client(3, "", "", "0_0", NEVER));
        service.behaviour = (exchange, body) -> soon;
        assertEquals("copies_by_interval", findReason(SixTasks.group(), Map.of()));
        Memories.advanceWithoutProgress("orders", 3_600_000);
        assertEquals("no_progress", findReason(SixTasks.group(), Map.of()));
    }
}
