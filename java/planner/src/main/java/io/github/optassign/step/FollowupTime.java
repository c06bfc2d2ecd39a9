package io.github.optassign.step;

import io.github.optassign.learn.Rates;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.policy.FollowupPolicy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
    private final Timing timing;

    /**
     * A copy in the answer that is a warm-up or not caught up.
     *
     * @param offsets the offsets left to replay
     * @param isPlannedActive whether the client is the task's planned active
     * @param underWayMs how long the copy has been assigned
     */
    private record RestoringCopy(int client, long offsets, boolean isWarmup, boolean isPlannedActive, long underWayMs) {
        /** Returns whether the follow-up waits for the copy; standbys are not awaited, as they restore in place. */
        boolean isAwaited() {
            return isWarmup || isPlannedActive;
        }
    }

    /** Creates the delay for an answer; {@link #chooseMs} needs its warm-ups and its offload. */
    public FollowupTime(PlanningStep step, Placement plan, Placement answer, Rates rates, Timing timing) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
        this.timing = timing;
    }

    /**
     * Returns whether follow-ups come soon after copies are restored. Timing must not prescribe the probing interval,
     * and a restore rate is known or the next follow-up is due within {@link FollowupPolicy#SOON_MS}.
     */
    public boolean isTimed() {
        return !timing.waitsForInterval()
                && (rates.perSecond() != null || backOff(FollowupPolicy.FIRST_LOOK_MS) <= FollowupPolicy.SOON_MS);
    }

    /** Returns a delay, ms, doubled for each follow-up in a row without progress, and at most the probing interval. */
    private long backOff(long delayMs) {
        long doubled = delayMs << Math.min(rates.looksWithoutProgress(), FollowupPolicy.MOST_DOUBLINGS);
        return Math.min(snapshot.configs().followupIntervalMs(), doubled);
    }

    /**
     * Returns the delay of the follow-up, at most the probing interval, in milliseconds.
     *
     * @param queue the planned copies that the answer lacks or that are not caught up
     * @param areOwnersHeldBack whether owners keep tasks; the follow-up is then soon if a planned client is ready
     */
    public long chooseMs(WarmupQueue queue, boolean areOwnersHeldBack) {
        long interval = snapshot.configs().followupIntervalMs();
        if (timing.waitsForInterval()) {
            return interval;
        }
        long soon = backOff(FollowupPolicy.REBALANCE_MS);
        if (areOwnersHeldBack && isAnyReady()) {
            return soon; // owners are held back for one rebalance only, however long copies elsewhere restore
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
            return (long) Math.min(interval, Math.max(backOff(FollowupPolicy.FIRST_LOOK_MS), longest));
        }
        double[] restored = estimate(copies, perSecond);
        double[] ends = select(copies, restored, RestoringCopy::isAwaited);
        double wait = ends[ends.length - 1];
        double[] actives = select(copies, restored, RestoringCopy::isPlannedActive);
        int half = (actives.length - 1) / 2;
        if (actives.length > 0
                && actives[half] < FollowupPolicy.HALF_SOONER * actives[actives.length - 1]
                && answer.isAnyAboveShare(snapshot)) {
            wait = actives[half];
        }
        if (queue.countUnserved() > 0) {
            double share = queue.countUnserved() > 2L * snapshot.configs().maxWarmupReplicas()
                    ? FollowupPolicy.LONG_IDLE_SHARE
                    : FollowupPolicy.IDLE_SHARE;
            wait = findLatestWait(select(copies, restored, RestoringCopy::isWarmup), ends, share);
        }
        double due = Math.min(longest, wait * FollowupPolicy.MARGIN + FollowupPolicy.MOMENT_MS);
        return (long) Math.min(interval, Math.max(soon, due));
    }

    /**
     * Returns the longest wait, in ms, that uncertain rates allow, by limits of the awaited copies. The limit is
     * infinite on a client with a trusted rate. Otherwise it is {@link FollowupPolicy#LOOK_AGAIN} times the longest
     * time for which an awaited copy there has been under way. Such follow-ups form a geometric series, so at most a
     * fixed share of the time is lost, whatever the rate is.
     *
     * <p>The wait may exceed the limits of a share {@link FollowupPolicy#OUTWAITED} of the awaited copies. Some
     * client's rate is nearly always uncertain in a large group, and a follow-up makes the whole group rebalance.
     */
    private double boundWaitMs(List<RestoringCopy> copies) {
        List<RestoringCopy> awaited =
                copies.stream().filter(RestoringCopy::isAwaited).toList();
        double[] longest = new double[snapshot.clientCount()];
        for (RestoringCopy copy : awaited) {
            longest[copy.client] = rates.isTrusted(copy.client)
                    ? Double.POSITIVE_INFINITY
                    : Math.max(longest[copy.client], FollowupPolicy.LOOK_AGAIN * copy.underWayMs);
        }
        double[] limits = awaited.stream()
                .mapToDouble(copy -> longest[copy.client])
                .sorted()
                .toArray();
        return Math.max(FollowupPolicy.FIRST_LOOK_MS, limits[(int) (FollowupPolicy.OUTWAITED * limits.length)]);
    }

    /** Returns whether some task is active elsewhere although its planned client is caught up. */
    private boolean isAnyReady() {
        return snapshot.tasks()
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
                    long underWayMs = previous.underWayMs(t, c, rates.elapsedMs());
                    boolean isPlannedActive = plan.active()[t] == c;
                    copies.add(new RestoringCopy(c, ranks.offsets(t, c), isWarmup, isPlannedActive, underWayMs));
                }
            }
        }
        copies.sort(Comparator.comparingInt(RestoringCopy::client).thenComparingLong(RestoringCopy::offsets));
        return copies;
    }

    /** Returns when each copy will be restored, ms from now, if the copies of a client share its rate equally. */
    private double[] estimate(List<RestoringCopy> copies, double[] perSecond) {
        int[] left = new int[snapshot.clientCount()];
        copies.forEach(copy -> left[copy.client]++);
        double[] restored = new double[copies.size()];
        for (int i = 0; i < restored.length; i++) {
            RestoringCopy copy = copies.get(i);
            boolean isFirst = i == 0 || copies.get(i - 1).client != copy.client;
            long more = isFirst ? copy.offsets : copy.offsets - copies.get(i - 1).offsets;
            double moreMs = (double) more * left[copy.client] * 1_000 / perSecond[copy.client];
            restored[i] = isFirst ? moreMs : restored[i - 1] + moreMs;
            left[copy.client]--;
        }
        return restored;
    }

    /** Returns the times at which the chosen copies are restored, sorted. */
    private static double[] select(List<RestoringCopy> copies, double[] restored, Predicate<RestoringCopy> isChosen) {
        return IntStream.range(0, restored.length)
                .filter(i -> isChosen.test(copies.get(i)))
                .mapToDouble(i -> restored[i])
                .sorted()
                .toArray();
    }

    /**
     * Returns the latest of the restore times {@code ends} until which slots idle little, or the first if there is no
     * such time. A slot idles once its copy is restored: on average for at most {@code share} of the wait, or for
     * {@link FollowupPolicy#REBALANCE_MS} if that is more.
     *
     * @param slots the restore times of the copies with a slot, ms, ascending
     * @param ends ascending
     */
    private double findLatestWait(double[] slots, double[] ends, double share) {
        double chosen = ends[0];
        int free = 0;
        double restoring = 0;
        for (double x : ends) {
            while (free < slots.length && slots[free] <= x) {
                restoring += slots[free++];
            }
            double idle = free * x - restoring;
            if (idle <= slots.length * Math.max(share * x, FollowupPolicy.REBALANCE_MS)) {
                chosen = x;
            }
        }
        return chosen;
    }
}
