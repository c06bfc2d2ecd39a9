package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.learn.Rates;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Shares;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.WarmupPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
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
 *
 * <p>While active tasks are too many here and missing there, and rates are steady, slots are filled only if that brings
 * the missing ones sooner ({@link WarmupStage}).
 */
public final class WarmupQueue {
    /**
     * A planned copy that is not caught up, or has no place in the answer.
     *
     * @param offsets offsets left to replay
     * @param idleAnswers the number of answers over which the lag has not fallen
     * @param toLose offsets of partial state that Kafka's clean-up would delete
     * @param overload the actives per thread by which the task's present client exceeds its share; -1 for a standby
     * @param reluctance the class of the copy in the order, least first
     */
    private record Waiting(
            int task, int client, long offsets, int idleAnswers, long toLose, double overload, int reluctance) {
        boolean isIdle() {
            return idleAnswers >= WarmupPolicy.PATIENCE;
        }
    }

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Placement plan;
    private final Placement answer;
    /** Whether this answer counts as one without progress. */
    private final boolean countsIdle;

    private final Rates rates;
    /** Per client the offsets per second that it restores, or null if nothing is known. */
    private final double[] perSecond;
    /** Per client its actives beyond its share, per thread. */
    private final double[] over;
    /** Planned copies that the answer lacks. */
    private final List<Waiting> queue = new ArrayList<>();
    /** Planned copies that the answer has on clients that are not caught up. */
    private final List<Waiting> restoring = new ArrayList<>();

    /** The number of first copies of the queue that have a slot. */
    private int served;

    /**
     * Creates the queue of an answer with its actives and standbys.
     *
     * @param isTimed whether follow-ups are timed by restore rates, or soon
     */
    public WarmupQueue(
            Snapshot snapshot,
            Ranks ranks,
            Previous previous,
            Placement plan,
            Placement answer,
            Rates rates,
            boolean isTimed) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.plan = plan;
        this.answer = answer;
        this.rates = rates;
        countsIdle = rates.countsIdle() && !previous.isAnyInTransit();
        perSecond = rates.perSecond();
        over = measureOver();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (snapshot.isLogged(t)) {
                add(t, plan.active()[t]);
                for (int c : plan.standby()[t]) {
                    add(t, c);
                }
            }
        }
        double atRisk = queue.stream()
                .filter(copy -> copy.toLose > 0)
                .mapToDouble(this::measureSeconds)
                .sum();
        boolean isSoon = isTimed
                || (perSecond != null
                        && atRisk <= WarmupPolicy.SOON_S * snapshot.configs().maxWarmupReplicas());
        double[] left = new double[snapshot.clientCount()];
        queue.forEach(copy -> left[copy.client] += measureSeconds(copy));
        double stage = isTimed ? findStage() : WarmupStage.NONE;
        queue.sort(Comparator.comparingInt(Waiting::reluctance)
                .thenComparingLong(copy -> isSoon ? -Long.signum(copy.toLose) : -copy.toLose)
                .thenComparing(copy -> copy.overload < 0)
                .thenComparingDouble(copy -> -copy.overload)
                .thenComparingLong(Waiting::offsets)
                .thenComparingInt(Waiting::task)
                .thenComparingInt(Waiting::client));
        served = Math.min(snapshot.configs().maxWarmupReplicas(), queue.size());
        boolean isInStage = stage < WarmupStage.NONE;
        if (isInStage || served < queue.size()) { // otherwise all have a slot, in any order
            int ordered = isInStage ? queue.size() : served;
            setClientsApart(isSoon, ordered, new SlotOrder(served, left, isTimed, stage));
        }
        if (isInStage) {
            keepToStage(stage);
        }
    }

    /** Puts copies that do not fit into the stage behind the others, without a slot. */
    private void keepToStage(double stage) {
        boolean[] fits = SlotOrder.findInStage(listCopies(), stage);
        List<Waiting> before = List.copyOf(queue);
        queue.clear();
        IntStream.range(0, fits.length).filter(k -> fits[k]).forEach(k -> queue.add(before.get(k)));
        served = Math.min(served, queue.size());
        IntStream.range(0, fits.length).filter(k -> !fits[k]).forEach(k -> queue.add(before.get(k)));
    }

    /** Finds the stage, or none while the rate of a client that lacks active tasks is not steady. */
    private double findStage() {
        List<Waiting> leads = queue.stream()
                .filter(copy -> copy.overload >= 0 && !copy.isIdle() && !isCaughtUp(copy))
                .toList();
        if (!leads.stream().allMatch(copy -> rates.isSteady(copy.client))) {
            return WarmupStage.NONE;
        }
        Map<Integer, List<Double>> seconds = leads.stream()
                .collect(Collectors.groupingBy(
                        Waiting::client, Collectors.mapping(this::measureSeconds, Collectors.toList())));
        return WarmupStage.find(snapshot, answer, seconds);
    }

    private List<SlotOrder.Copy> listCopies() {
        List<SlotOrder.Copy> copies = new ArrayList<>();
        for (Waiting copy : queue) {
            int weight = previous.hadWarmup(copy.task, copy.client) ? 1 : 0;
            copies.add(new SlotOrder.Copy(copy.client, measureSeconds(copy), weight, copies.size()));
        }
        return copies;
    }

    private double[] measureOver() {
        long[] count = answer.countActives(snapshot.clientCount());
        long[] high = Shares.ofActives(snapshot).high();
        double[] found = new double[count.length];
        Arrays.setAll(found, c -> (double) Math.max(0, count[c] - high[c]) / snapshot.threads(c));
        return found;
    }

    /** Returns whether a draining client has a copy of the task. */
    private boolean isLeaving(int t) {
        return snapshot.isDraining(answer.active()[t])
                || Arrays.stream(answer.standby()[t]).anyMatch(snapshot::isDraining);
    }

    private boolean isCaughtUp(Waiting copy) {
        return ranks.rank(copy.task, copy.client) == 0;
    }

    private double measureSeconds(Waiting copy) {
        return copy.offsets / (perSecond == null ? 1 : perSecond[copy.client]);
    }

    /** Reorders copies that differ by client only, so that slots go to different clients. */
    private void setClientsApart(boolean isSoon, int ordered, SlotOrder order) {
        for (Waiting copy : queue.subList(0, served)) {
            if (!isOpen(copy)) {
                order.take(copy.client, measureSeconds(copy));
            }
        }
        List<Waiting> before = List.copyOf(queue);
        for (int first = 0, end = 0; first < ordered; first = end) {
            Waiting one = before.get(first);
            List<SlotOrder.Copy> alike = new ArrayList<>();
            while (end < before.size() && isAlike(one, before.get(end), isSoon)) {
                Waiting copy = before.get(end);
                if (isOpen(copy)) {
                    int weight = (copy.toLose > 0 ? 2 : 0) + (copy.overload >= 0 ? 1 : 0);
                    alike.add(new SlotOrder.Copy(copy.client, measureSeconds(copy), weight, end));
                }
                end++;
            }
            List<Integer> places = order.order(alike);
            for (int i = 0; i < places.size(); i++) {
                queue.set(alike.get(i).place(), before.get(places.get(i)));
            }
        }
    }

    /** Returns whether a copy restores, and its place in the queue is open. */
    private boolean isOpen(Waiting copy) {
        return !previous.hadWarmup(copy.task, copy.client) && !copy.isIdle() && !isCaughtUp(copy);
    }

    private boolean isAlike(Waiting one, Waiting other, boolean isSoon) {
        return isLeaving(one.task) == isLeaving(other.task) && (isSoon || one.toLose == other.toLose);
    }

    private void add(int t, int c) {
        long offsets = ranks.offsets(t, c);
        boolean isThere = answer.hasCopy(t, c);
        if (isThere && ranks.rank(t, c) == 0) {
            return;
        }
        double overload = plan.active()[t] == c ? over[answer.active()[t]] : -1;
        int idle = countIdleAnswers(t, c);
        (isThere ? restoring : queue)
                .add(new Waiting(
                        t, c, offsets, idle, ranks.partialState(t, c), overload, measureReluctance(t, c, idle)));
    }

    /** Returns the class of a copy in the order, least first. */
    private int measureReluctance(int t, int c, int idleAnswers) {
        return (ranks.rank(t, c) == 0 ? 8 : 0)
                + (idleAnswers >= WarmupPolicy.PATIENCE ? 4 : 0)
                + (previous.hadWarmup(t, c) ? 0 : 2)
                + (isLeaving(t) ? 0 : 1);
    }

    /**
     * Returns the number of answers over which the lag has not fallen. Answers that follow at once, such as second
     * passes, do not count.
     */
    private int countIdleAnswers(int t, int c) {
        Previous.Progress before = previous.progress(t, c);
        if (before == null) {
            return 0;
        }
        boolean hasFallen = before.lag() >= 0 && ranks.offsets(t, c) < before.lag();
        if (hasFallen || ranks.rank(t, c) == 0) {
            return 0;
        }
        boolean counts = previous.hadAnyCopy(t, c) && countsIdle;
        return Math.min(before.idleAnswers(), WarmupPolicy.PATIENCE) + (counts ? 1 : 0);
    }

    /** Warms up the first copies of the queue. */
    public void assignWarmups() {
        queue.subList(0, served).forEach(copy -> answer.addWarmup(copy.task, copy.client));
    }

    private Answer.Progress toProgress(Waiting copy) {
        long lag = snapshot.lag(copy.task, copy.client) == Snapshot.UNKNOWN ? -1 : copy.offsets;
        return new Answer.Progress(
                snapshot.taskName(copy.task),
                snapshot.clientName(copy.client),
                lag,
                copy.idleAnswers,
                previous.underWayMs(copy.task, copy.client, rates.elapsedMs()));
    }

    /** Returns whether any copy of the plan is not there, or not caught up. */
    public boolean isAnyWaiting() {
        return !queue.isEmpty() || !restoring.isEmpty();
    }

    /** Returns how many copies are to be warmed up that have no slot yet. */
    public int countLeft() {
        return queue.size() - served;
    }

    /** Returns the copies that the answer waits for: the next answer compares lags with these. */
    public List<Answer.Progress> progress() {
        Stream<Waiting> inQueue = IntStream.range(0, queue.size())
                .filter(i -> i < served || queue.get(i).isIdle())
                .mapToObj(queue::get);
        return Stream.concat(inQueue, restoring.stream()).map(this::toProgress).toList();
    }

    /** Returns whether each copy that is waited for had its turn without progress: another rebalance would not help. */
    public boolean isGivenUp() {
        return isAnyWaiting() && listWaiting().allMatch(Waiting::isIdle);
    }

    private Stream<Waiting> listWaiting() {
        return Stream.concat(queue.stream(), restoring.stream());
    }

    /** Returns whether no copy has come nearer over several answers, whatever is still in the queue (R11). */
    public boolean isStalled() {
        boolean isAnyIdle = listWaiting().anyMatch(Waiting::isIdle);
        return isGivenUp() || (isAnyIdle && rates.looks() >= WarmupPolicy.PATIENCE);
    }
}
