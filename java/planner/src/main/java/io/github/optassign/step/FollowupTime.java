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
 * The delay of the follow-up rebalance. The follow-up is due when the awaited copies are expected to be restored, or
 * earlier if warm-up slots would stay idle until then. It comes at the latest after the probing interval
 * (docs/reference/rules.md, "The follow-up").
 */
public final class FollowupTime extends PlanningStep {
    private final Placement plan;
    private final Placement answer;
    private final Rates rates;

    /**
     * A copy in the answer that is a warm-up or not caught up.
     *
     * @param offsets the offsets left to replay
     * @param isAwaited whether the follow-up waits for the copy: a warm-up or a planned active. Standbys are not
     *     awaited, since they restore where they stay
     * @param underWayMs how long the copy has been assigned
     */
    private record RestoringCopy(
            int task, int client, long offsets, boolean isWarmup, boolean isAwaited, long underWayMs) {}

    /** A copy and the milliseconds until it is restored. */
    private record RestoreTime(RestoringCopy copy, double ms) {}

    /** Creates the delay for an answer that has its warm-ups and its offload. */
    public FollowupTime(PlanningStep step, Placement plan, Placement answer, Rates rates) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
    }

    /**
     * Returns whether follow-ups come soon after copies are restored. They must not be bound to the probing interval,
     * and a restore rate is known or the next look is due within {@link FollowupPolicy#SOON_MS}.
     */
    public static boolean isTimed(Snapshot snapshot, Timing timing, Rates rates) {
        if (timing.isByInterval() || timing.takenAtMs() < 0) {
            return false;
        }
        return rates.perSecond() != null || chooseFirstLookMs(snapshot, rates) <= FollowupPolicy.SOON_MS;
    }

    /** Returns the delay of a look while no rate is known; it doubles with each look that finds no progress. */
    private static long chooseFirstLookMs(Snapshot snapshot, Rates rates) {
        long interval = FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        return Math.min(
                interval,
                FollowupPolicy.FIRST_LOOK_MS << Math.min(rates.looksWithoutProgress(), FollowupPolicy.MOST_DOUBLINGS));
    }

    /**
     * Returns the delay of the follow-up, at most the probing interval, in milliseconds.
     *
     * @param queue the planned copies that the answer lacks or that are not caught up
     * @param areOwnersHeldBack whether owners keep tasks in this rebalance that R3 would let move to planned clients
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
     * Returns the longest wait, in ms, that uncertain rates allow. A client with a trusted rate sets no limit. Any
     * other sets {@link FollowupPolicy#LOOK_AGAIN} times the longest time for which an awaited copy there has been
     * under way. Such follow-ups form a geometric series, so at most a fixed share of the time is lost, whatever the
     * rate is.
     *
     * <p>The wait may exceed the limits of a share {@link FollowupPolicy#OUTWAITED} of the awaited copies. In a large
     * group some client's rate is nearly always uncertain, and a follow-up makes the whole group rebalance.
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

    /** Returns whether some task is active elsewhere although its planned client is caught up. */
    private boolean isAnyReady() {
        return IntStream.range(0, snapshot.taskCount())
                .anyMatch(t -> answer.active()[t] != plan.active()[t] && ranks.rank(t, plan.active()[t]) == 0);
    }

    /** Returns the warm-ups and the other copies that are not caught up, sorted by client, then by offsets. */
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

    /** Returns when each copy will be restored, assuming that the copies of a client share its rate equally. */
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

    /** Returns the restore times of the chosen copies, in ms, sorted. */
    private static double[] select(List<RestoreTime> ends, Predicate<RestoringCopy> isChosen) {
        return ends.stream()
                .filter(end -> isChosen.test(end.copy))
                .mapToDouble(RestoreTime::ms)
                .sorted()
                .toArray();
    }

    /**
     * Returns the latest of the restore times {@code ends} by which slots have been idle for little time. On average
     * that is at most the given share of the time, or {@link FollowupPolicy#REBALANCE_MS} if that is more. A slot is
     * idle once its copy is restored.
     *
     * @param slots the restore times of the copies with a slot, ms
     */
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
