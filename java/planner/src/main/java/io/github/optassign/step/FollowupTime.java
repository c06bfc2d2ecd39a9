package io.github.optassign.step;

import io.github.optassign.learn.Rates;
import io.github.optassign.model.Balance;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.policy.FollowupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * The time until the follow-up: until the copies that it waits for are expected to be restored, or some of them if free
 * slots would wait for the others; at most the probing interval (docs/reference/rules.md, "The follow-up").
 */
public final class FollowupTime extends PlanningStep {
    private final Placement plan;
    private final Placement answer;
    private final Rates rates;

    /**
     * A copy in the answer that is not caught up.
     *
     * @param isWarmup whether it is a warm-up
     * @param isAwaited whether the follow-up waits for the copy; it does not for a standby, which restores where it
     *     stays
     * @param underWayMs how long the copy has been assigned
     */
    private record RestoringCopy(
            int task, int client, long offsets, boolean isWarmup, boolean isAwaited, long underWayMs) {}

    /** A copy and the milliseconds until it is restored. */
    private record RestoreTime(RestoringCopy copy, double ms) {}

    /** Reads an answer on the way to a plan. */
    public FollowupTime(PlanningStep step, Placement plan, Placement answer, Rates rates) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
    }

    /** Returns whether follow-ups are timed by restore rates or, while no rate is known, by early looks. */
    public static boolean isTimed(Snapshot snapshot, Timing timing, Rates rates) {
        if (timing.isByInterval() || timing.takenAtMs() < 0) {
            return false;
        }
        return rates.perSecond() != null || chooseFirstLookMs(snapshot, rates) <= FollowupPolicy.SOON_MS;
    }

    private static long chooseFirstLookMs(Snapshot snapshot, Rates rates) {
        long interval = FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        return Math.min(
                interval,
                FollowupPolicy.FIRST_LOOK_MS << Math.min(rates.looksWithoutProgress(), FollowupPolicy.MOST_DOUBLINGS));
    }

    /**
     * Chooses the delay.
     *
     * @param queue the copies of the plan that are not caught up, or not in the answer
     * @param areOwnersHeldBack whether owners keep tasks in this rebalance that may go to the plan's clients
     * @return milliseconds, at most the interval
     */
    public long chooseMs(Timing timing, WarmupQueue queue, boolean areOwnersHeldBack) {
        long interval = FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        if (timing.isByInterval() || timing.takenAtMs() < 0) {
            return interval;
        }
        long soon = Math.min(
                interval,
                FollowupPolicy.REBALANCE_MS << Math.min(rates.looksWithoutProgress(), FollowupPolicy.MOST_DOUBLINGS));
        if (areOwnersHeldBack && isAnyReady()) {
            return soon; // holding owners back costs one rebalance, whatever copies elsewhere take
        }
        List<RestoringCopy> copies = listCopies();
        if (copies.stream().noneMatch(RestoringCopy::isAwaited)) {
            // No awaited copy restores: tasks in transit arrive in a moment, and no follow-up waits for a standby.
            return queue.isAnyPending() ? interval : soon;
        }
        double[] perSecond = rates.perSecond();
        double longest = boundWaitMs(copies);
        if (rates.looksWithoutProgress() > 0 && !queue.isStalled()) {
            interval = Math.min(interval, FollowupPolicy.NO_PROGRESS_LOOK_MS);
        }
        if (perSecond == null) {
            return (long) Math.min(interval, Math.max(chooseFirstLookMs(snapshot, rates), longest));
        }
        List<RestoreTime> all = estimate(copies, perSecond);
        double[] ends = select(all, RestoringCopy::isAwaited);
        double wait = ends[ends.length - 1];
        double[] actives = select(all, copy -> copy.isAwaited && plan.active()[copy.task] == copy.client);
        boolean isAnyCrowded =
                Arrays.stream(Balance.measureRoom(snapshot, answer)).anyMatch(room -> room < 0);
        double half = actives.length > 1 ? actives[(actives.length - 1) / 2] : Double.POSITIVE_INFINITY;
        if (actives.length > 1 && half < FollowupPolicy.HALF_SOONER * actives[actives.length - 1] && isAnyCrowded) {
            wait = half;
        }
        if (queue.countUnserved() > 0) {
            double share = queue.countUnserved() > 2L * snapshot.configs().maxWarmupReplicas()
                    ? FollowupPolicy.LONG_IDLE_SHARE
                    : FollowupPolicy.IDLE_SHARE;
            wait = findLatestWait(select(all, RestoringCopy::isWarmup), ends, share);
        }
        double due = Math.min(longest, wait * FollowupPolicy.MARGIN + FollowupPolicy.MOMENT_MS);
        return (long) Math.min(interval, Math.max(soon, due));
    }

    /**
     * Returns the longest wait in ms: a share of the time for which each client's copies have been under way. Such
     * looks form a geometric series, so at most a fixed share of the time is lost, whatever the rate is. A steady rate
     * that was measured for the whole window sets no limit. In a large group a few copies may be waited for longer:
     * there one of many clients is nearly always unsure, and the whole group would rebalance for it.
     */
    private double boundWaitMs(List<RestoringCopy> copies) {
        Map<Integer, Double> longest = new HashMap<>();
        List<RestoringCopy> awaited =
                copies.stream().filter(RestoringCopy::isAwaited).toList();
        awaited.forEach(copy -> {
            boolean isTrusted = rates.isTrusted(copy.client);
            double longestHere = isTrusted ? Double.POSITIVE_INFINITY : FollowupPolicy.LOOK_AGAIN * copy.underWayMs;
            longest.merge(copy.client, longestHere, Math::max);
        });
        double[] limits = awaited.stream()
                .mapToDouble(copy -> longest.get(copy.client))
                .sorted()
                .toArray();
        return Math.max(FollowupPolicy.FIRST_LOOK_MS, limits[(int) (FollowupPolicy.OUTWAITED * limits.length)]);
    }

    /** Returns whether a task is active elsewhere though the plan's client is caught up. */
    private boolean isAnyReady() {
        return IntStream.range(0, snapshot.taskCount())
                .anyMatch(t -> answer.active()[t] != plan.active()[t] && ranks.rank(t, plan.active()[t]) == 0);
    }

    /** Lists the copies that clients restore, by client, the smallest first. */
    private List<RestoringCopy> listCopies() {
        List<RestoringCopy> copies = new ArrayList<>();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int[] clients = Snapshot.union(answer.standby()[t], answer.active()[t]);
            for (int c : Snapshot.union(clients, answer.warmup()[t])) {
                boolean isWarmup = answer.hasWarmup(t, c);
                if (isWarmup || ranks.rank(t, c) > 0) {
                    boolean isAwaited = isWarmup || plan.active()[t] == c;
                    long underWayMs = previous.underWayMs(t, c, rates.elapsedMs());
                    copies.add(new RestoringCopy(t, c, ranks.offsets(t, c), isWarmup, isAwaited, underWayMs));
                }
            }
        }
        copies.sort(Comparator.comparingInt(RestoringCopy::client).thenComparingLong(RestoringCopy::offsets));
        return copies;
    }

    /** Estimates when each copy is restored, if the copies of a client share its rate equally. */
    private List<RestoreTime> estimate(List<RestoringCopy> copies, double[] perSecond) {
        int[] left = new int[snapshot.clientCount()];
        copies.forEach(copy -> left[copy.client]++);
        double[] passed = new double[left.length];
        long[] done = new long[left.length];
        List<RestoreTime> ends = new ArrayList<>();
        for (RestoringCopy copy : copies) {
            int c = copy.client;
            passed[c] += (double) (copy.offsets - done[c]) * left[c] * 1_000 / perSecond[c];
            done[c] = copy.offsets;
            left[c]--;
            ends.add(new RestoreTime(copy, passed[c]));
        }
        return ends;
    }

    /** Returns the milliseconds until each of some copies is restored, sorted. */
    private static double[] select(List<RestoreTime> ends, Predicate<RestoringCopy> isChosen) {
        return ends.stream()
                .filter(end -> isChosen.test(end.copy))
                .mapToDouble(RestoreTime::ms)
                .sorted()
                .toArray();
    }

    /** Returns the latest time by which free slots have been idle for at most a share of it. */
    private double findLatestWait(double[] slots, double[] ends, double share) {
        double chosen = ends[0];
        for (double x : ends) {
            double idle = 0;
            for (double slot : slots) {
                idle += Math.max(0, x - slot);
            }
            if (idle <= slots.length * Math.max(share * x, FollowupPolicy.REBALANCE_MS)) {
                chosen = x;
            }
        }
        return chosen;
    }
}
