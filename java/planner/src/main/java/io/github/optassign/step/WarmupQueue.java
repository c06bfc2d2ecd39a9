package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.learn.Rates;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A queue of planned copies for the warm-up slots (R6, number of warm-ups). It also tells whether the group still makes
 * progress towards the plan (R11, progress).
 *
 * <p>The queue has the planned copies on clients that hold no copy of the task in this answer. Planned copies in the
 * answer that are not caught up are pending too, outside the queue. Its order is by these criteria, most important
 * first:
 *
 * <ol>
 *   <li>caught-up copies without a slot come last, as they need not restore; one with a slot would lose its state;
 *   <li>copies that have made progress in the last {@link WarmupPolicy#PATIENCE} answers before stuck copies;
 *   <li>copies that the last answer warmed up;
 *   <li>copies of tasks with a copy on a draining client;
 *   <li>copies with the most state at risk, which is state without a role that Kafka's clean-up would delete. If a rate
 *       is known or follow-ups are timed, criterion 6 goes before this one, and any amount counts alike;
 *   <li>clients in turn ({@link SlotOrder}); if turns are equal, copies with state at risk, then planned actives;
 *   <li>planned actives that take a task off the client furthest above its share;
 *   <li>least lag; ties are broken by the order of tasks, then of clients.
 * </ol>
 */
public final class WarmupQueue extends PlanningStep {
    /** A planned copy that is missing from the answer or not caught up. */
    private final class PendingCopy implements SlotOrder.Candidate {
        private final int task;
        private final int client;
        /** Offsets left to replay. */
        private final long offsets;
        /** The number of counted answers over which the lag has not fallen. */
        private final int idleAnswers;
        /** The offsets that the client has on disk, which Kafka's clean-up would delete without a copy. */
        private final long stateAtRisk;
        /** The excess, in actives per thread, of the task's client in the answer; -1 for a planned standby. */
        private final double overload;
        /** Whether a draining client has a copy of the task in the answer. */
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

        @Override
        public double restoreTime() {
            return offsets / (perSecond == null ? 1 : perSecond[client]);
        }

        /** Returns the precedence by state at risk, then by whether the copy is a planned active. */
        @Override
        public int priority() {
            return (stateAtRisk > 0 ? 2 : 0) + (overload >= 0 ? 1 : 0);
        }

        /** Returns whether the last answer warmed this copy up. */
        boolean hadSlot() {
            return previous.hadWarmup(task, client);
        }

        /** Returns whether the copy's lag has not fallen over {@link WarmupPolicy#PATIENCE} answers (R11). */
        boolean isStuck() {
            return idleAnswers >= WarmupPolicy.PATIENCE;
        }

        /** Returns whether {@link SlotOrder} decides on the copy: it is not caught up, is not stuck and had no slot. */
        boolean mayBeReordered() {
            return !hadSlot() && !isStuck() && !isCaughtUp;
        }

        /** Returns the copy's progress for the next answer to compare with; the lag is -1 if unknown. */
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
    /** Whether R11 counts this answer: no task is in transit, and the last counted answer is not too recent. */
    private final boolean countsAsIdle;

    private final Rates rates;
    /** Per client the offsets that it restores per second; null if no client's rate is known. */
    private final double[] perSecond;
    /** Per client the number of actives per thread by which it exceeds its share. */
    private final double[] excess;
    /** The planned copies on clients that hold no copy of the task in the answer. */
    private final List<PendingCopy> queue = new ArrayList<>();
    /** The planned copies that the answer has, in either role, on clients that are not caught up. */
    private final List<PendingCopy> restoring = new ArrayList<>();

    /** The number of copies, at the head of the queue, that have a slot. */
    private int served;

    /** Creates an answer's queue, given whether follow-ups come {@link FollowupTime#isTimed soon after restores}. */
    public WarmupQueue(PlanningStep step, Placement plan, Placement answer, Rates rates, boolean isTimed) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
        countsAsIdle = rates.countsAsIdle() && !previous.isAnyInTransit();
        perSecond = rates.perSecond();
        long[] room = answer.measureRoom(snapshot);
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
        boolean isRiskEqual = isTimed || perSecond != null;
        served = Math.min(snapshot.configs().maxWarmupReplicas(), queue.size());
        double[] queued = new double[excess.length];
        queue.forEach(copy -> queued[copy.client] += copy.restoreTime());
        Comparator<PendingCopy> upToRisk = Comparator.comparing(
                        (PendingCopy copy) -> copy.isCaughtUp && !copy.hadSlot())
                .thenComparing(PendingCopy::isStuck)
                .thenComparing(copy -> !copy.hadSlot())
                .thenComparing(copy -> !copy.isOnDraining)
                .thenComparingLong(copy -> isRiskEqual ? 0 : -copy.stateAtRisk);
        queue.sort(upToRisk.thenComparingInt(copy -> -copy.priority())
                .thenComparingDouble(copy -> -copy.overload)
                .thenComparingLong(copy -> copy.offsets)
                .thenComparingInt(copy -> copy.task)
                .thenComparingInt(copy -> copy.client));
        if (served < queue.size()) { // otherwise all have a slot, in any order
            spreadOverClients(upToRisk, new SlotOrder(served, queued, isTimed));
        }
    }

    /** Adds a planned copy to the queue if the answer lacks it, or to the restoring copies if it is not caught up. */
    private void add(int t, int c) {
        if (!answer.hasCopy(t, c)) {
            queue.add(new PendingCopy(t, c));
        } else if (ranks.rank(t, c) > 0) {
            restoring.add(new PendingCopy(t, c));
        }
    }

    /** Reorders copies that are equal by {@code upToRisk}, criteria 1 to 5, so that slots go to different clients. */
    private void spreadOverClients(Comparator<PendingCopy> upToRisk, SlotOrder order) {
        queue.subList(0, served).stream().filter(copy -> !copy.mayBeReordered()).forEach(order::addServed);
        for (int first = 0, end = 0; first < served; first = end) {
            PendingCopy one = queue.get(first);
            while (end < queue.size() && upToRisk.compare(one, queue.get(end)) == 0) {
                end++;
            }
            if (one.mayBeReordered()) {
                List<PendingCopy> alike = queue.subList(first, end);
                Collections.copy(alike, order.order(alike));
            }
        }
    }

    /** Returns over how many counted answers the lag has not fallen; 0 if it fell, or the copy is new or caught up. */
    private int countIdleAnswers(int t, int c) {
        Previous.Progress before = previous.progress(t, c);
        boolean hasFallen = before != null && before.lag() >= 0 && ranks.offsets(t, c) < before.lag();
        if (before == null || hasFallen || ranks.rank(t, c) == 0) {
            return 0;
        }
        boolean counts = previous.hadAnyCopy(t, c) && countsAsIdle;
        return Math.min(before.idleAnswers(), WarmupPolicy.PATIENCE) + (counts ? 1 : 0);
    }

    /** Adds the copies that have a slot to the answer's warm-ups. */
    public void assignWarmups() {
        queue.subList(0, served).forEach(copy -> answer.addWarmup(copy.task, copy.client));
    }

    /** Returns whether any planned copy is missing from the answer or not caught up. */
    public boolean isAnyPending() {
        return !queue.isEmpty() || !restoring.isEmpty();
    }

    /** Returns the number of queued copies without a slot. */
    public int countUnserved() {
        return queue.size() - served;
    }

    /**
     * Estimates the time until the plan is reached, which decides on offload (docs/reference/rules.md, "Temporary
     * offload"). It is the time for which disks and slots restore, and a fixed time for each round of warm-ups.
     *
     * @return milliseconds, or -1 if the snapshot has no time or no copy is pending
     */
    public long estimateToBalanceMs(Timing timing) {
        if (timing.takenAtMs() < 0 || !isAnyPending()) {
            return -1;
        }
        int slots = snapshot.configs().maxWarmupReplicas();
        long lagging = queue.stream().filter(copy -> !copy.isCaughtUp).count();
        long batches = Math.max(1, (lagging + slots - 1L) / slots);
        if (timing.isByInterval()) {
            return batches * snapshot.configs().followupIntervalMs();
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

    /** Returns the copies that have a slot, restore or are stuck; the next answer compares their lags with these. */
    public List<Answer.Progress> progress() {
        Stream<PendingCopy> inQueue = IntStream.range(0, queue.size())
                .filter(i -> i < served || queue.get(i).isStuck())
                .mapToObj(queue::get);
        return Stream.concat(inQueue, restoring.stream())
                .map(PendingCopy::toProgress)
                .toList();
    }

    /** Returns whether copies are pending and all of them are stuck, so that a follow-up would change nothing. */
    public boolean isGivenUp() {
        return isAnyPending() && listPending().allMatch(PendingCopy::isStuck);
    }

    private Stream<PendingCopy> listPending() {
        return Stream.concat(queue.stream(), restoring.stream());
    }

    /**
     * Returns whether the group is stalled (R11): it {@link #isGivenUp is given up}, or a copy is stuck and no copy has
     * made progress at the last {@link WarmupPolicy#PATIENCE} looks. Copies that have had no slot yet may still wait.
     */
    public boolean isStalled() {
        boolean isAnyStuck = listPending().anyMatch(PendingCopy::isStuck);
        return isGivenUp() || (isAnyStuck && rates.looksWithoutProgress() >= WarmupPolicy.PATIENCE);
    }
}
