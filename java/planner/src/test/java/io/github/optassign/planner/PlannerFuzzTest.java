package io.github.optassign.planner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Previous;
import io.github.optassign.model.Answer;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** The planner answers by the rules after any sequence of events. Failing sequences are shrunk. */
class PlannerFuzzTest {
    private static final long LATEST = 4_102_444_800_000L;

    /** The kinds of events between two rebalances. */
    enum What {
        RESTORE,
        SETTLE,
        SETTLE_AND_KEEP_STATE,
        FIRST_PASS,
        FIRST_PASS_OF_SOME,
        NOTHING,
        GROW,
        JOIN,
        LEAVE,
        LOSE_STATE,
        LAGS_UNKNOWN,
        THREADS,
        DRAIN,
        NEW_TASKS,
        FORGET,
        ANSWER_OF_ANOTHER_GROUP,
        LONG_WAIT,
        CLOCK_GOES_BACK
    }

    /**
     * An event between two rebalances.
     *
     * @param seed the seed of its random details
     */
    record Event(What what, int seed) {}

    @Provide
    Arbitrary<TestGroup> groups() {
        return Arbitraries.longs().dontShrink().map(seed -> TestGroup.random(new Random(seed)));
    }

    @Provide
    Arbitrary<List<Event>> histories() {
        return Combinators.combine(Arbitraries.of(What.class), Arbitraries.integers())
                .as(Event::new)
                .list()
                .ofMaxSize(12);
    }

    @Property
    void answersByTheRulesWhateverHappens(@ForAll("groups") TestGroup group, @ForAll("histories") List<Event> history) {
        long now = 1_767_225_600_000L;
        AppliedAnswer applied = null;
        Answer answer = answer(group, null, now);
        for (Event event : history) {
            applied = group.remembered(answer);
            Random random = new Random(event.seed);
            switch (event.what) {
                case FORGET -> applied = null;
                case ANSWER_OF_ANOTHER_GROUP ->
                    applied = TestGroup.random(random)
                            .remembered(answer(TestGroup.random(new Random(event.seed)), null, now));
                case LONG_WAIT -> now = Math.min(LATEST, now + random.nextInt(Integer.MAX_VALUE));
                case CLOCK_GOES_BACK -> now = Math.max(0, now - random.nextInt(Integer.MAX_VALUE));
                default -> happen(group, event.what, answer, random);
            }
            now += random.nextInt(120_000);
            answer = answer(group, applied, now);
        }
    }

    private static void happen(TestGroup group, What what, Answer answer, Random random) {
        TestGroup.Client any = group.client(random.nextInt(group.clients.size()));
        switch (what) {
            case RESTORE -> group.restore(answer, random.nextInt(1_000_000));
            case SETTLE -> group.settle(answer, false);
            case SETTLE_AND_KEEP_STATE -> group.settle(answer, true);
            case FIRST_PASS -> group.firstPass(answer);
            case FIRST_PASS_OF_SOME -> group.firstPass(answer, client -> random.nextBoolean());
            case GROW -> group.grow(answer, random.nextDouble(), random);
            case JOIN -> {
                TestGroup.Client joins = new TestGroup.Client(100 + random.nextInt(1_000_000));
                if (group.clients.stream().noneMatch(client -> client.name().equals(joins.name()))) {
                    group.clients.add(joins);
                }
            }
            case LEAVE -> {
                if (group.clients.size() > 1) {
                    group.clients.remove(any);
                }
            }
            case LOSE_STATE -> {
                any.active.clear();
                any.standby.clear();
                any.lags.clear();
            }
            case LAGS_UNKNOWN -> any.lags.replaceAll((task, lag) -> lag == -2 ? lag : -3L);
            case THREADS -> any.threads = 1 + random.nextInt(8);
            case DRAIN -> any.tags = Map.of("optassign.draining", String.valueOf(random.nextBoolean()));
            case NEW_TASKS -> group.tasks(9, 1 + random.nextInt(5), TestGroup.Kind.LOGGED, random.nextInt(1_000));
            default -> {
                // The rebalance was aborted, so the group is unchanged.
            }
        }
    }

    /** Returns the planner's answer, after checking it against the rules. */
    private static Answer answer(TestGroup group, AppliedAnswer applied, long now) {
        Snapshot snapshot = group.snapshot();
        RebalancePlanner.Result result =
                RebalancePlanner.answer(snapshot, applied, RackTraffic.NONE, new Timing(now, false));
        Answer answer = RebalancePlanner.toAnswer(snapshot, result);
        if (applied == null || !new Previous(snapshot, applied).isAnyInTransit()) {
            assertEquals(List.of(), Rules.broken(group, answer), () -> group + "\n" + applied + "\n" + answer);
        }
        assertTrue(
                result.followupMs() == -1
                        || (result.followupMs() >= FollowupPolicy.REBALANCE_MS && result.followupMs() <= 600_000),
                () -> result.followupMs() + "\n" + group);
        return answer;
    }
}
