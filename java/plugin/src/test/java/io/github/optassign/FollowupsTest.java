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
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.Test;

/** After what time the plug-in has Kafka rebalance again: never in a storm, and soon where disks are soon done. */
class FollowupsTest extends AgainstAService {
    private static Duration followup(TaskAssignment assignment) {
        Instant now = Instant.now();
        return assignment.assignment().stream()
                .map(KafkaStreamsAssignment::followupRebalanceDeadline)
                .flatMap(java.util.Optional::stream)
                .map(at -> Duration.between(now, at))
                .findFirst()
                .orElseThrow();
    }

    /**
     * Rebalances as soon as it is asked to, so many times; returns after how many seconds each answer wants the next.
     */
    private List<Long> followTheAnswers(StreamsTestGroup group, int times, IntFunction<String> answer) {
        List<Long> seconds = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            String given = answer.apply(i);
            service.behaviour = (exchange, body) -> given;
            TaskAssignment assignment = rebalance(group, Map.of(), AssignmentError.NONE);
            long delay = followup(assignment).toSeconds() + 1;
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
            Memories.letPass("orders", delay * 1_000);
        }
        return seconds;
    }

    private static final String EACH_HALF_MINUTE = RIGHT.replace("90000", "30000");
    /** What is asked of a group in which nothing comes of it. */
    private static final List<Long> LATER = List.of(30L, 30L, 30L, 30L, 40L, 53L, 71L, 95L, 126L, 168L);

    @Test
    void followupsWithoutProgressArePutOff() {
        List<Long> seconds = followTheAnswers(SixTasks.group(), 30, i -> EACH_HALF_MINUTE);
        for (int i = 0; i < LATER.size(); i++) {
            assertEquals(LATER.get(i), seconds.get(i), 2 + LATER.get(i) / 40.0, seconds.toString());
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

    /** A group at rest has nothing to come nearer to: its follow-ups give the operator a turn, as late as was asked. */
    @Test
    void followupsAtRestComeAsTheyWereAskedFor() {
        String eachMinute = RIGHT.replace("90000", "60000");
        List<Long> seconds = followTheAnswers(SixTasks.group(), 12, i -> eachMinute);
        assertTrue(seconds.stream().allMatch(each -> each == 60), seconds.toString());
    }

    /** A stalled group keeps its minutes: a follow-up that was put off would look overdue to the service. */
    @Test
    void followupsOfAStalledGroupComeAsTheyWereAskedFor() {
        String away = client(1, ODD, EVEN, "", NEVER) + "," + client(2, EVEN, ODD, "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        String eachMinute = RIGHT.replace("90000", "60000");
        String stalled = eachMinute.substring(0, eachMinute.length() - 1) + ", \"plan\": [" + away + "]}";
        List<Long> seconds = followTheAnswers(SixTasks.group(), 12, i -> stalled);
        assertTrue(seconds.stream().allMatch(each -> each == 60), seconds.toString());
    }

    /** A service that wants a rebalance each second for nothing gets some dozens of them in a day. */
    @Test
    void nobodyMakesAStorm() {
        List<Long> seconds = followTheAnswers(SixTasks.group(), 40, i -> RIGHT.replace("90000", "1000"));
        assertTrue(seconds.stream().mapToLong(each -> each).sum() > 86_400, seconds.toString());
    }

    /** Second passes and early looks follow within a moment: that says nothing of progress. */
    @Test
    void answersThatFollowOneAnotherAtOnceAreNotPutOff() {
        service.behaviour = (exchange, body) -> RIGHT.replace("90000", "1000");
        for (int i = 0; i < 12; i++) {
            Duration delay = followup(rebalance(SixTasks.group(), Map.of(), AssignmentError.NONE));
            assertTrue(delay.toMillis() <= 1_000, i + ": " + delay);
            Memories.letPass("orders", 200);
        }
    }

    /** Two plans in turn are no progress either, though each answer moves something. */
    @Test
    void plansThatSwingArePutOffToo() {
        String other = answer(
                client(1, ODD, EVEN, "", 60_000L), client(2, EVEN, ODD, "", NEVER), client(3, "", "", "", NEVER));
        List<Long> seconds = followTheAnswers(SixTasks.group(), 12, i -> i % 2 == 0 ? EACH_HALF_MINUTE : other);
        assertTrue(seconds.get(11) > 300, seconds.toString());
    }

    /** Now a far plan, now a near one: to have come nearer to another plan is no progress. */
    @Test
    void plansThatTakeTurnsAreNoProgress() {
        String far = client(1, ODD, EVEN, "", NEVER) + "," + client(2, EVEN, ODD, "", NEVER) + ","
                + client(3, "", "", "", NEVER);
        String asking = EACH_HALF_MINUTE.substring(0, EACH_HALF_MINUTE.length() - 1);
        List<Long> seconds =
                followTheAnswers(SixTasks.group(), 10, i -> asking + (i % 2 == 0 ? ", \"plan\": [" + far + "]}" : "}"));
        for (int i = 0; i < LATER.size(); i++) {
            assertEquals(LATER.get(i), seconds.get(i), 2 + LATER.get(i) / 40.0, seconds.toString());
        }
    }

    /** Two clients have all of the state; a third one has joined that has none. */
    private static StreamsTestGroup withOneThatJoins() {
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
                followup(rebalance(withOneThatJoins(), Map.of(), AssignmentError.NONE))
                        .toSeconds(),
                1);
    }

    @Test
    void intervalHoldsInAnOutageToo() {
        service.close();
        Map<String, String> configs = Map.of("optassign.followup", "interval");
        assertEquals(
                600,
                followup(rebalance(withOneThatJoins(), configs, AssignmentError.NONE))
                        .toSeconds(),
                1);
    }
}
