package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.learn.Rates;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Balance;
import io.github.optassign.model.FollowupLimits;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The planned copies that wait for a warm-up slot (R6), and whether waiting for them makes sense (R11).
 *
 * <p>In the queue are the plan's copies on clients that have no copy of the task in this answer. Their order:
 *
 * <ol>
 *   <li>copies that lag before copies that are caught up and only wait for their turn;
 *   <li>copies that make progress before copies that have made none for {@link WarmupPolicy#PATIENCE} answers;
 *   <li>copies that the last answer warmed up before others;
 *   <li>those of tasks that a draining client has a copy of;
 *   <li>those with the most state that Kafka's clean-up would delete, or any, where follow-ups come in time or all of
 *       it is soon restored;
 *   <li>actives before standbys, and clients apart ({@link SlotOrder}; where all such state is soon restored that comes
 *       first);
 *   <li>copies that offload the client furthest above its share, then the least lag, then the order of tasks and
 *       clients.
 * </ol>
 */
public final class WarmupQueue extends PlanningStep {
    /** A planned copy that is not caught up, or has no place in the answer. */
    private final class PendingCopy implements SlotOrder.Candidate {
        private final int task;
        private final int client;
        /** Offsets left to replay. */
        private final long offsets;
        /** The number of answers over which the lag has not fallen. */
        private final int idleAnswers;
        /** Offsets of partial state that Kafka's clean-up would delete. */
        private final long stateAtRisk;
        /** The actives per thread by which the task's present client exceeds its share; -1 for a standby. */
        private final double overload;
        /** Whether a draining client has a copy of the task. */
        private final boolean isOnDraining;

        private final boolean isCaughtUp;

        PendingCopy(int t, int c) {
            task = t;
            client = c;
            offsets = ranks.offsets(t, c);
            idleAnswers = countIdleAnswers(t, c);
            stateAtRisk = ranks.partialState(t, c);
            overload = plan.active()[t] == c ? excess[answer.active()[t]] : -1;
            isOnDraining = snapshot.isDraining(answer.active()[t])
                    || Arrays.stream(answer.standby()[t]).anyMatch(snapshot::isDraining);
            isCaughtUp = ranks.rank(t, c) == 0;
        }

        @Override
        public int client() {
            return client;
        }

        /** Returns the seconds, or the offsets if no rate is known. */
        @Override
        public double restoreTime() {
            return offsets / (perSecond == null ? 1 : perSecond[client]);
        }

        @Override
        public int priority() {
            return (stateAtRisk > 0 ? 2 : 0) + (overload >= 0 ? 1 : 0);
        }

        boolean hadSlot() {
            return previous.hadWarmup(task, client);
        }

        boolean isStuck() {
            return idleAnswers >= WarmupPolicy.PATIENCE;
        }

        /** Returns whether the copy restores, and its place in the queue is open. */
        boolean mayBeReordered() {
            return !hadSlot() && !isStuck() && !isCaughtUp;
        }

        Answer.Progress toProgress() {
            return new Answer.Progress(
                    snapshot.taskName(task),
                    snapshot.clientName(client),
                    snapshot.lag(task, client) == Snapshot.UNKNOWN ? -1 : offsets,
                    idleAnswers,
                    previous.underWayMs(task, client, rates.elapsedMs()));
        }
    }

    private final Placement plan;
    private final Placement answer;
    /** Whether this answer counts as one without progress. */
    private final boolean countsAsIdle;

    private final Rates rates;
    /** Per client the offsets per second that it restores, or null if nothing is known. */
    private final double[] perSecond;
    /** Per client its actives beyond its share, per thread. */
    private final double[] excess;
    /** Planned copies that the answer lacks. */
    private final List<PendingCopy> queue = new ArrayList<>();
    /** Planned copies that the answer has on clients that are not caught up. */
    private final List<PendingCopy> restoring = new ArrayList<>();

    /** The number of first copies of the queue that have a slot. */
    private int served;

    /** Creates the queue of an answer with actives and standbys; timed if follow-ups come by rates, or soon. */
    public WarmupQueue(PlanningStep step, Placement plan, Placement answer, Rates rates, boolean isTimed) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
        countsAsIdle = rates.countsAsIdle() && !previous.isAnyInTransit();
        perSecond = rates.perSecond();
        long[] room = Balance.measureRoom(snapshot, answer);
        excess = new double[room.length];
        Arrays.setAll(excess, c -> (double) Math.max(0, -room[c]) / snapshot.threads(c));
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.isLogged(t)) {
                add(t, plan.active()[t]);
                for (int c : plan.standby()[t]) {
                    add(t, c);
                }
            }
        }
        double atRisk = queue.stream()
                .filter(copy -> copy.stateAtRisk > 0)
                .mapToDouble(PendingCopy::restoreTime)
                .sum();
        boolean isRiskShort = isTimed
                || (perSecond != null
                        && atRisk <= WarmupPolicy.SOON_S * snapshot.configs().maxWarmupReplicas());
        served = Math.min(snapshot.configs().maxWarmupReplicas(), queue.size());
        double[] queued = new double[excess.length];
        queue.forEach(copy -> queued[copy.client] += copy.restoreTime());
        SlotOrder order = new SlotOrder(served, queued, isTimed);
        queue.sort(Comparator.comparing((PendingCopy copy) -> copy.isCaughtUp)
                .thenComparing(PendingCopy::isStuck)
                .thenComparing(copy -> !copy.hadSlot())
                .thenComparing(copy -> !copy.isOnDraining)
                .thenComparingLong(copy -> isRiskShort ? -Long.signum(copy.stateAtRisk) : -copy.stateAtRisk)
                .thenComparing(copy -> copy.overload < 0)
                .thenComparingDouble(copy -> -copy.overload)
                .thenComparingLong(copy -> copy.offsets)
                .thenComparingInt(copy -> copy.task)
                .thenComparingInt(copy -> copy.client));
        if (served < queue.size()) { // otherwise all have a slot, in any order
            spreadOverClients(isRiskShort, order);
        }
    }

    private void add(int t, int c) {
        if (!answer.hasCopy(t, c)) {
            queue.add(new PendingCopy(t, c));
        } else if (ranks.rank(t, c) > 0) {
            restoring.add(new PendingCopy(t, c));
        }
    }

    /** Reorders the first copies where they differ by client only, so that slots go to different clients. */
    private void spreadOverClients(boolean isRiskShort, SlotOrder order) {
        queue.subList(0, served).stream().filter(copy -> !copy.mayBeReordered()).forEach(order::addServed);
        for (int first = 0, end = 0; first < served; first = end) {
            PendingCopy one = queue.get(first);
            while (end < queue.size() && hasSamePriority(one, queue.get(end), isRiskShort)) {
                end++;
            }
            List<PendingCopy> alike = queue.subList(first, end);
            Iterator<PendingCopy> apart = order.order(
                            alike.stream().filter(PendingCopy::mayBeReordered).toList())
                    .iterator();
            alike.replaceAll(copy -> copy.mayBeReordered() ? apart.next() : copy);
        }
    }

    private static boolean hasSamePriority(PendingCopy one, PendingCopy other, boolean isRiskShort) {
        return one.isOnDraining == other.isOnDraining && (isRiskShort || one.stateAtRisk == other.stateAtRisk);
    }

    /** Returns over how many answers, without those that follow at once, the lag has not fallen. */
    private int countIdleAnswers(int t, int c) {
        Previous.Progress before = previous.progress(t, c);
        boolean hasFallen = before != null && before.lag() >= 0 && ranks.offsets(t, c) < before.lag();
        if (before == null || hasFallen || ranks.rank(t, c) == 0) {
            return 0;
        }
        boolean counts = previous.hadAnyCopy(t, c) && countsAsIdle;
        return Math.min(before.idleAnswers(), WarmupPolicy.PATIENCE) + (counts ? 1 : 0);
    }

    /** Warms up the first copies of the queue. */
    public void assignWarmups() {
        queue.subList(0, served).forEach(copy -> answer.addWarmup(copy.task, copy.client));
    }

    /** Returns whether any copy of the plan is not there, or not caught up. */
    public boolean isAnyPending() {
        return !queue.isEmpty() || !restoring.isEmpty();
    }

    /** Returns how many copies are to be warmed up that have no slot yet. */
    public int countUnserved() {
        return queue.size() - served;
    }

    /**
     * Estimates the time until the plan is reached, by which offload is judged (docs/reference/rules.md, "Temporary
     * offload"): what disks and slots take, and what each batch costs.
     *
     * @return milliseconds, or -1 if times are not known or the plan is reached
     */
    public long estimateToBalanceMs(Timing timing) {
        if (timing.takenAtMs() < 0 || !isAnyPending()) {
            return -1;
        }
        int slots = snapshot.configs().maxWarmupReplicas();
        long lagging = queue.stream().filter(copy -> !copy.isCaughtUp).count();
        long batches = Math.max(1, (lagging + slots - 1L) / slots);
        if (timing.isByInterval()) {
            return batches * FollowupLimits.clamp(snapshot.configs().probingRebalanceIntervalMs());
        }
        if (perSecond == null) {
            return batches * FollowupPolicy.BATCH_MS;
        }
        double[] onDisk = new double[excess.length];
        double[] inSlots = new double[excess.length];
        boolean[] isAwaited = new boolean[excess.length];
        for (PendingCopy copy : queue) {
            onDisk[copy.client] += copy.offsets;
            inSlots[copy.client] += copy.isCaughtUp ? 0 : copy.offsets;
            isAwaited[copy.client] |= !copy.isCaughtUp || answer.hasWarmup(copy.task, copy.client);
        }
        for (PendingCopy copy : restoring) {
            onDisk[copy.client] += copy.offsets;
            isAwaited[copy.client] |= plan.active()[copy.task] == copy.client;
        }
        double longest = batches * FollowupPolicy.REBALANCE_MS;
        double together = 0;
        for (int c = 0; c < onDisk.length; c++) {
            longest = Math.max(longest, isAwaited[c] ? onDisk[c] * 1_000.0 / perSecond[c] : 0);
            together += inSlots[c] * 1_000.0 / perSecond[c];
        }
        longest = Math.max(longest, together / slots);
        return (long) Math.min(Long.MAX_VALUE, longest + batches * FollowupPolicy.BATCH_MS);
    }

    /** Returns the copies that the answer waits for: the next answer compares lags with these. */
    public List<Answer.Progress> progress() {
        Stream<PendingCopy> inQueue = IntStream.range(0, queue.size())
                .filter(i -> i < served || queue.get(i).isStuck())
                .mapToObj(queue::get);
        return Stream.concat(inQueue, restoring.stream())
                .map(PendingCopy::toProgress)
                .toList();
    }

    /** Returns whether each copy that is waited for had its turn without progress: another rebalance would not help. */
    public boolean isGivenUp() {
        return isAnyPending() && listPending().allMatch(PendingCopy::isStuck);
    }

    private Stream<PendingCopy> listPending() {
        return Stream.concat(queue.stream(), restoring.stream());
    }

    /** Returns whether no copy has come nearer over several answers, whatever is still in the queue (R11). */
    public boolean isStalled() {
        boolean isAnyStuck = listPending().anyMatch(PendingCopy::isStuck);
        return isGivenUp() || (isAnyStuck && rates.looksWithoutProgress() >= WarmupPolicy.PATIENCE);
    }
}
