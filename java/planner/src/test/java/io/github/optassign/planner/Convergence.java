package io.github.optassign.planner;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Previous;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The rebalances of a random group under the planner until no follow-up is due or a bound is reached. */
final class Convergence {
    /**
     * The course of events between two rebalances.
     *
     * @param memory whether the planner remembers its last answer
     * @param keepState whether disks keep the state of dropped copies
     * @param slow whether restoring takes several rebalances; disks keep all state then
     * @param twoPasses whether moving tasks have no owner until a second pass, as in Kafka (KIP-429)
     * @param growth the maximum growth of a task's lags, as a share of its changelog
     */
    record Mode(boolean memory, boolean keepState, boolean slow, boolean twoPasses, double growth) {}

    private final Mode mode;
    private final TestGroup group;
    private final Random random;
    /** The maximum number of rebalances. */
    private final int bound;
    /** The number of offsets that a copy restores between two rebalances. */
    private final long rate;

    private final StringBuilder history;
    private final List<String> broken = new ArrayList<>();
    private AppliedAnswer applied;
    private RebalancePlanner.Result last;
    private Placement plan;
    private int rebalances;
    private int moves;
    private int neededMoves;
    private long restored;
    /** Per task its moves that R3 did not force; the second array counts moves towards the current plan only. */
    private final int[] movedByChoice;

    private final int[] movedTowardsPlan;
    private final boolean[] movedTwiceTowardsPlan;

    Convergence(int seed, Mode mode) {
        this.mode = mode;
        group = TestGroup.random(new Random(seed));
        random = new Random(seed);
        LongStream lags = Stream.concat(
                        Stream.of(group.ends), group.clients.stream().map(client -> client.lags))
                .flatMap(map -> map.values().stream())
                .mapToLong(lag -> lag);
        rate = 1 + lags.max().orElse(0) * (1 + random.nextInt(5)) / 5;
        int copies = group.ends.size() * (1 + group.standbys);
        bound = 4 + (mode.slow ? 8 : 1) * ((copies + group.warmups - 1) / group.warmups);
        movedByChoice = new int[group.tasks.size()];
        movedTowardsPlan = new int[movedByChoice.length];
        movedTwiceTowardsPlan = new boolean[movedByChoice.length];
        history = new StringBuilder("seed " + seed + ", " + mode);
        while ((last == null || last.followupMs() >= 0) && rebalances < bound) {
            play();
        }
    }

    private void play() {
        rebalances++;
        Snapshot before = group.snapshot();
        answer("-> ");
        if (rebalances == 1) {
            neededMoves = countNeededMoves(before);
        }
        if (mode.twoPasses && countMoves(before) > 0) {
            group.firstPass(applied.answer());
            answer("second pass -> ");
        }
        noteMoves(before);
        Answer answer = RebalancePlanner.toAnswer(group.snapshot(), last);
        if (mode.slow) {
            group.restore(answer, rate);
        } else {
            group.settle(answer, mode.keepState);
        }
        if (mode.growth > 0) {
            group.grow(answer, mode.growth, random);
        }
    }

    private void answer(String title) {
        Snapshot snapshot = group.snapshot();
        last = RebalancePlanner.answer(snapshot, applied);
        Answer answer = RebalancePlanner.toAnswer(snapshot, last);
        history.append("\n").append(group).append("\n").append(title).append(answer);
        // A second pass may keep copies where R3 and R5 would not put them (R10).
        if (rebalances == 1 || !new Previous(snapshot, applied).isAnyInTransit()) {
            broken.addAll(Rules.broken(group, answer));
        }
        Placement planned = last.plan() == null ? last.placement() : last.plan();
        if (plan == null || !plan.hasSameCopies(planned)) {
            Arrays.fill(movedTowardsPlan, 0);
        }
        plan = planned;
        applied = mode.memory ? group.remembered(answer) : null;
    }

    /** Returns the number of moves to the plan, including moves that R3 forces on the way. */
    private int countNeededMoves(Snapshot before) {
        Ranks ranks = before.ranks();
        int count = 0;
        for (int t = 0; t < before.taskCount(); t++) {
            int planned = plan.active()[t];
            if (ranks.rank(t, planned) == ranks.leastRank(t)) {
                count += isMove(before, t, planned) ? 1 : 0;
            } else {
                count += isOwned(before, t) && !mayOwnerLead(before, ranks, t) ? 2 : 1;
            }
        }
        return count;
    }

    private int countMoves(Snapshot before) {
        int count = 0;
        for (int t = 0; t < before.taskCount(); t++) {
            count += isMove(before, t, last.placement().active()[t]) ? 1 : 0;
        }
        return count;
    }

    private void noteMoves(Snapshot before) {
        moves += countMoves(before);
        Ranks ranks = before.ranks();
        for (int t = 0; t < before.taskCount(); t++) {
            if (isMove(before, t, last.placement().active()[t]) && mayOwnerLead(before, ranks, t)) {
                movedByChoice[t]++;
                movedTowardsPlan[t]++;
                movedTwiceTowardsPlan[t] |= movedTowardsPlan[t] > 1;
            }
            for (int c = 0; c < before.clientCount(); c++) {
                boolean hasCopy =
                        last.placement().hasCopy(t, c) || last.placement().hasWarmup(t, c);
                restored += hasCopy && ranks.rank(t, c) > 0 ? Math.min(ranks.offsets(t, c), rate) : 0;
            }
        }
    }

    private static boolean isMove(Snapshot before, int t, int to) {
        return isOwned(before, t) && !before.wasActive(t, to);
    }

    private static boolean isOwned(Snapshot before, int t) {
        for (int c = 0; c < before.clientCount(); c++) {
            if (before.wasActive(t, c)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether R3 lets an owner keep the task. */
    private static boolean mayOwnerLead(Snapshot before, Ranks ranks, int t) {
        for (int c = 0; c < before.clientCount(); c++) {
            if (before.wasActive(t, c) && ranks.rank(t, c) == ranks.leastRank(t)) {
                return true;
            }
        }
        return false;
    }

    /** Returns descriptions of the rules that answers broke. */
    Collection<String> broken() {
        return broken;
    }

    boolean isSettled() {
        return last.followupMs() < 0;
    }

    /** Returns the result of one more rebalance. */
    RebalancePlanner.Result answerOnceMore() {
        return RebalancePlanner.answer(group.snapshot(), applied);
    }

    RebalancePlanner.Result last() {
        return last;
    }

    int tasks() {
        return movedByChoice.length;
    }

    int rebalances() {
        return rebalances;
    }

    /** Returns the number of changes of owners, summed over the rebalances. */
    int moves() {
        return moves;
    }

    /** Returns the number of moves to the first plan. */
    int neededMoves() {
        return neededMoves;
    }

    /** Returns the number of offsets that copies restored, summed over the rebalances. */
    long restored() {
        return restored;
    }

    /** Returns the number of tasks that moved more than once, not counting moves that R3 forced. */
    int movedTwice() {
        return (int) Arrays.stream(movedByChoice).filter(times -> times > 1).count();
    }

    /** Returns the number of tasks that moved more than once, as above, while the plan stayed the same. */
    int movedTwiceTowardsOnePlan() {
        int count = 0;
        for (boolean twice : movedTwiceTowardsPlan) {
            count += twice ? 1 : 0;
        }
        return count;
    }

    /** Returns the history: the group and the answer at each step. */
    @Override
    public String toString() {
        return history.toString();
    }
}
