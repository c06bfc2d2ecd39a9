package io.github.optassign;

import static io.github.optassign.testing.SixTasks.EVEN;
import static io.github.optassign.testing.SixTasks.NEVER;
import static io.github.optassign.testing.SixTasks.ODD;
import static io.github.optassign.testing.SixTasks.RIGHT;
import static io.github.optassign.testing.SixTasks.answer;
import static io.github.optassign.testing.SixTasks.client;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.Memories;
import io.github.optassign.testing.Assignments;
import io.github.optassign.testing.SixTasks;
import io.github.optassign.testing.StreamsTestGroup;
import io.github.optassign.testing.TestGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;

/** The delays of follow-ups: never a storm of rebalances, and short delays if restoration is fast. */
class FollowupsTest extends AgainstAService {
    private static Duration followup(TaskAssignment assignment) {
        return Assignments.findFollowup(assignment).orElseThrow();
    }

    /** Returns the delay in the line of the last rebalance. Clients ask at once if tasks move, whatever the delay. */
    private long readDelayMs() {
        List<String> lines = log.rebalances();
        return Long.parseLong(lines.get(lines.size() - 1).replaceFirst(".* followup_ms=(\\d+) .*", "$1"));
    }

    /**
     * Rebalances repeatedly, each time when the follow-up is due.
     *
     * @return the delay of each follow-up, s
     */
    private List<Long> rebalanceWhenDue(StreamsTestGroup group, int times, IntFunction<String> answer) {
        List<Long> seconds = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            String given = answer.apply(i);
            service.behaviour = (exchange, body) -> given;
            TaskAssignment assignment = rebalance(group, Map.of(), AssignmentError.NONE);
            long delay = (readDelayMs() + 999) / 1_000;
            seconds.add(delay);
            for (TestGroup.Client client : group.clients) {
                client.active.clear();
                client.standby.clear();
                client.lags.clear();
            }
            Assignments.owners(assignment).forEach((task, owner) -> {
                group.runs(owner - 1, task);
                group.holds(2 - owner, task, 0);
            });
            Memories.advanceWithoutProgress("orders", delay * 1_000);
        }
        return seconds;
    }

    private static final String EACH_HALF_MINUTE = RIGHT.replace("90000", "30000");
    /** The delays of a group without progress, s. */
    private static final List<Long> GROWING_DELAYS = List.of(30L, 30L, 30L, 30L, 40L, 53L, 71L, 95L, 126L, 168L);

    @Test
    void followupsWithoutProgressAreDelayed() {
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 30, i -> EACH_HALF_MINUTE);
        for (int i = 0; i < GROWING_DELAYS.size(); i++) {
            assertEquals(GROWING_DELAYS.get(i), seconds.get(i), 2 + GROWING_DELAYS.get(i) / 40.0, seconds.toString());
        }
        assertEquals(6 * 3_600, seconds.get(29), 2, seconds.toString());
        StreamsTestGroup more = SixTasks.group();
        more.clients.add(new StreamsTestGroup.Client(4));
        service.behaviour = (exchange, body) -> answer(
                client(1, EVEN, ODD, "", 60_000L),
                client(2, ODD, EVEN, "", NEVER),
                client(3, "", "", "", NEVER),
                client(4, "", "", "", NEVER));
        assertEquals(
                59, followup(rebalance(more, Map.of(), AssignmentError.NONE)).toSeconds(), "another group");
    }

    /** A group at rest cannot progress. Its follow-ups serve the operator, so they keep the service's delay. */
    @Test
    void followupsAtRestKeepTheirDelay() {
        String eachMinute = RIGHT.replace("90000", "60000");
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 12, i -> eachMinute);
        assertTrue(seconds.stream().allMatch(delay -> delay == 60), seconds.toString());
    }

    @Test
    void aGroupAtRestRebalancesSixTimesInAnHour() {
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 6, i -> RIGHT.replace("90000", "600000"));
        assertTrue(seconds.stream().allMatch(delay -> delay == 600), seconds.toString());
    }

    /** A stalled group keeps the service's delay, since the service would take a delayed follow-up for overdue. */
    @Test
    void followupsOfAStalledGroupKeepTheirDelay() {
        String away = client(1, ODD, EVEN, "", NEVER) + "," + client(2, EVEN, ODD, "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        String eachMinute = RIGHT.replace("90000", "60000");
        String stalled = eachMinute.substring(0, eachMinute.length() - 1) + ", \"plan\": [" + away + "]}";
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 12, i -> stalled);
        assertTrue(seconds.stream().allMatch(delay -> delay == 60), seconds.toString());
    }

    /** A service that asks for a follow-up each second without progress gets a few dozen rebalances a day. */
    @Test
    void followupsEachSecondMakeNoStorm() {
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 40, i -> RIGHT.replace("90000", "1000"));
        assertTrue(seconds.stream().mapToLong(delay -> delay).sum() > 86_400, seconds.toString());
    }

    /** Second passes and early looks follow at once, which tells nothing about progress. */
    @Test
    void answersInQuickSuccessionAreNotDelayed() {
        service.behaviour = (exchange, body) -> RIGHT.replace("90000", "1000");
        for (int i = 0; i < 12; i++) {
            Duration delay = followup(rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE));
            assertTrue(delay.toMillis() <= 1_000, i + ": " + delay);
            Memories.advanceWithoutProgress("orders", 200);
        }
    }

    /** Two alternating plans are no progress, although each answer moves tasks. */
    @Test
    void alternatingPlansAreDelayedToo() {
        String other = answer(
                client(1, ODD, EVEN, "", 60_000L), client(2, EVEN, ODD, "", NEVER), client(3, "", "", "", NEVER));
        List<Long> seconds = rebalanceWhenDue(SixTasks.group(), 12, i -> i % 2 == 0 ? EACH_HALF_MINUTE : other);
        assertTrue(seconds.get(11) > 300, seconds.toString());
    }

    /** A far and a near plan alternate. To be nearer to another plan is no progress. */
    @Test
    void farAndNearPlansInTurnAreNoProgress() {
        String far = client(1, ODD, EVEN, "", NEVER) + "," + client(2, EVEN, ODD, "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        String asking = EACH_HALF_MINUTE.substring(0, EACH_HALF_MINUTE.length() - 1);
        List<Long> seconds =
                rebalanceWhenDue(SixTasks.group(), 10, i -> asking + (i % 2 == 0 ? ", \"plan\": [" + far + "]}" : "}"));
        for (int i = 0; i < GROWING_DELAYS.size(); i++) {
            assertEquals(GROWING_DELAYS.get(i), seconds.get(i), 2 + GROWING_DELAYS.get(i) / 40.0, seconds.toString());
        }
    }

    /** Returns a group of two clients with all of the state and a third without any. */
    private static StreamsTestGroup withNewClient() {
        StreamsTestGroup group = SixTasks.group();
        group.standbys = 0;
        group.client(2).lags.clear();
        return group;
    }

    @Test
    void outageDoesNotBringBackTheInterval() {
        service.close();
        assertEquals(
                2,
                followup(rebalance(withNewClient(), Map.of(), AssignmentError.NONE))
                        .toSeconds(),
                1);
    }

    @Test
    void intervalHoldsInAnOutageToo() {
        service.close();
        Map<String, String> configs = Map.of("optassign.followup", "interval");
        assertEquals(
                600,
                followup(rebalance(withNewClient(), configs, AssignmentError.NONE))
                        .toSeconds(),
                1);
    }
}
