package io.github.optassign.step;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.plan.CopyPlanner;
import io.github.optassign.plan.PlanningStep;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * An assigner of actives and standbys for this rebalance, on the way to the plan.
 *
 * <ol>
 *   <li>{@link #assignActives} makes each task active on one of its most caught-up clients (R3). The planned client
 *       comes first, then an owner, then any other, so a task on its way to the plan moves once. Ties are broken by the
 *       balance of actives. A task in transit goes to the client that the first pass of its move chose. Owners come
 *       before the planned client if a move may be under way that this JVM does not remember.
 *   <li>{@link #assignStandbys} puts standbys on the other clients of lowest rank (R5). Ties are broken in favour of
 *       planned standbys, then of the planned active. So as many copies as possible are on planned clients, in either
 *       role.
 * </ol>
 *
 * <p>The choice of the active takes no copy from a planned client. The planned client itself becomes active if it is
 * most caught up. Otherwise copies go to the most caught-up clients first, s + 1 in all (s is the number of standbys).
 * Either each of these clients gets a copy, or at least one copy is off the plan anyway.
 */
public final class InterimAssigner extends PlanningStep {
    private final Placement plan;
    private final Placement answer;
    /** Per client the number of its actives and standbys in the answer so far. */
    private final long[] load;

    private InterimAssigner(PlanningStep step, Placement plan) {
        super(step);
        this.plan = plan;
        answer = Placement.empty(snapshot.taskCount());
        load = new long[snapshot.clientCount()];
    }

    /** Returns the actives and standbys of this rebalance, without warm-ups. */
    public static Placement assign(PlanningStep step, Placement plan) {
        InterimAssigner assigner = new InterimAssigner(step, plan);
        assigner.assignActives();
        assigner.assignStandbys();
        return assigner.answer;
    }

    /** Makes each task active on one of its {@link #findCandidates candidates}, with the least imbalance of actives. */
    private void assignActives() {
        boolean ownersFirst = mayBeUnknownSecondPass(snapshot, previous);
        int[][] candidates = new int[snapshot.taskCount()][];
        boolean isOpen = false;
        for (int t = 0; t < candidates.length; t++) {
            candidates[t] = findCandidates(t, ownersFirst);
            boolean isDecided = candidates[t] != null && candidates[t].length == 1;
            isOpen |= !isDecided;
            if (isDecided) {
                assignActive(t, candidates[t][0]);
            }
        }
        if (isOpen && snapshot.weights() != null) {
            chooseLeastLoaded(candidates);
        } else if (isOpen) {
            int[] active = new CopyPlanner(this, RackTraffic.NONE).chooseAmong(candidates);
            for (int t = 0; t < active.length; t++) {
                if (answer.active()[t] < 0) {
                    assignActive(t, active[t]);
                }
            }
        }
    }

    /** Makes each undecided task active on its least loaded candidate, the heaviest first. Tasks must have weights. */
    private void chooseLeastLoaded(int[][] candidates) {
        double[] weight = snapshot.weights().ofTask();
        double[] sums = new double[snapshot.clientCount()];
        for (int t = 0; t < candidates.length; t++) {
            if (answer.active()[t] >= 0) {
                sums[answer.active()[t]] += weight[t];
            }
        }
        IntStream open = IntStream.range(0, candidates.length).filter(t -> answer.active()[t] < 0);
        for (int t : sort(open, Comparator.comparingDouble(t -> -weight[t]))) {
            int[] most = candidates[t] == null
                    ? IntStream.range(0, sums.length)
                            .filter(c -> ranks.isMostCaughtUp(t, c))
                            .toArray()
                    : candidates[t];
            int best = Arrays.stream(most)
                    .boxed()
                    .min(Comparator.comparing(snapshot::isDraining)
                            .thenComparingDouble(c -> (sums[c] + weight[t]) / snapshot.size(c)))
                    .orElseThrow();
            assignActive(t, best);
            sums[best] += weight[t];
        }
    }

    /** Returns a task's candidates, or null for all most caught-up clients; {@code ownersFirst} prefers owners. */
    private int[] findCandidates(int t, boolean ownersFirst) {
        if (isConfirmed(t)) {
            return new int[] {previous.owner(t)};
        }
        boolean mayGo = ranks.isMostCaughtUp(t, plan.active()[t]);
        if (mayGo && !ownersFirst) {
            return new int[] {plan.active()[t]};
        }
        int[] owners = Arrays.stream(Snapshot.union(snapshot.owners(t), previous.owner(t)))
                .filter(c -> ranks.isMostCaughtUp(t, c))
                .toArray();
        if (mayGo && owners.length == 0) {
            return new int[] {plan.active()[t]};
        }
        return owners.length > 0 ? owners : null;
    }

    private void assignActive(int t, int c) {
        answer.active()[t] = c;
        load[c]++;
    }

    /** Returns whether a task is in transit to a client with hardly more to replay than the best client (R10). */
    private boolean isConfirmed(int t) {
        return previous.isInTransit(t) && ranks.isHardlyWorse(t, previous.owner(t), findLeastOffsets(t, c -> true));
    }

    /** Returns the fewest offsets that any of the selected clients has to replay, or the greatest long if none is. */
    private long findLeastOffsets(int t, IntPredicate isAmong) {
        return IntStream.range(0, snapshot.clientCount())
                .filter(isAmong)
                .mapToLong(c -> ranks.offsets(t, c))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /**
     * Returns whether this may be the second pass of a move, which assigns revoked tasks, although this JVM remembers
     * no first pass. This is assumed if some but not all tasks have no owner, and all of these have a caught-up client.
     * Owners should then keep their tasks until the follow-up, because further moves could undo that move.
     */
    public static boolean mayBeUnknownSecondPass(Snapshot snapshot, Previous previous) {
        if (previous.remembered() != null || snapshot.configs().movesInOnePass()) {
            return false;
        }
        int[] unowned = snapshot.tasks().filter(t -> previous.owner(t) < 0).toArray();
        return unowned.length > 0
                && unowned.length < snapshot.taskCount()
                && Arrays.stream(unowned).allMatch(t -> snapshot.ranks().leastRank(t) == 0);
    }

    private void assignStandbys() {
        int wanted = snapshot.standbysPerTask();
        for (int t = 0; t < snapshot.taskCount() && wanted > 0; t++) {
            if (!snapshot.isLogged(t)) {
                continue;
            }
            if (isConfirmed(t)) {
                confirmStandbys(t, wanted);
            }
            while (answer.standby()[t].length < wanted) {
                assignStandby(t, findStandby(t));
            }
        }
    }

    /**
     * Returns the client for the next standby, the first by {@link #compareStandby}. Clients without state and without
     * a planned or previous copy differ by load alone, so only the least loaded of them is compared.
     */
    private int findStandby(int t) {
        int[] known = Snapshot.union(snapshot.columnsAnd(t, plan.active()[t]), plan.standby()[t]);
        known = Snapshot.union(known, previous.possibleStandbys(t));
        int best = -1;
        for (int c : known) {
            if (!answer.hasCopy(t, c) && (best < 0 || compareStandby(t, c, best) < 0)) {
                best = c;
            }
        }
        int[] taken = Snapshot.union(Snapshot.union(known, answer.active()[t]), answer.standby()[t]);
        int[] other = snapshot.firstOthers(taken, 1);
        if (other.length == 0) {
            return best;
        }
        // The others differ in drains too, so a draining one does not stand for them.
        if (best >= 0 && !snapshot.isDraining(other[0]) && compareWithoutLoad(t, best, other[0]) < 0) {
            return best;
        }
        int emptiest = snapshot.findLeastLoaded(load, c -> Arrays.binarySearch(taken, c) < 0);
        int order = best < 0 ? -1 : compareStandby(t, emptiest, best);
        return order < 0 || (order == 0 && emptiest < best) ? emptiest : best;
    }

    private void assignStandby(int t, int c) {
        answer.addStandby(t, c);
        load[c]++;
    }

    /** Assigns the first pass's standbys that are hardly worse than others (R10), if at most {@code wanted}. */
    private void confirmStandbys(int t, int wanted) {
        int[] fromFirstPass = previous.remembered().standby()[t];
        if (fromFirstPass.length > wanted) {
            return;
        }
        Placement last = previous.remembered();
        long best = findLeastOffsets(t, c -> c != answer.active()[t] && !last.hasStandby(t, c));
        for (int c : fromFirstPass) {
            if (c != answer.active()[t] && ranks.isHardlyWorse(t, c, best)) {
                assignStandby(t, c);
            }
        }
    }

    private boolean isDrainingWithoutCopy(int t, int c) {
        return snapshot.isDraining(c) && !previous.hadStandby(t, c) && Arrays.binarySearch(snapshot.owners(t), c) < 0;
    }

    /**
     * Compares clients for a standby by rank. Ties are broken by planned standby, planned active (which needs the state
     * anyway), drains, restore cost, previous standby, offsets to replay, and load.
     */
    private int compareStandby(int t, int a, int b) {
        int order = compareWithoutLoad(t, a, b);
        return order != 0 ? order : snapshot.compareLoad(load[a], a, load[b], b);
    }

    /** Compares clients for a standby as {@link #compareStandby} does, but without their loads. */
    private int compareWithoutLoad(int t, int a, int b) {
        int order = Long.compare(ranks.rank(t, a), ranks.rank(t, b));
        order = order != 0 ? order : Boolean.compare(!plan.hasStandby(t, a), !plan.hasStandby(t, b));
        order = order != 0 ? order : Boolean.compare(!plan.hasCopy(t, a), !plan.hasCopy(t, b));
        order = order != 0 ? order : Boolean.compare(isDrainingWithoutCopy(t, a), isDrainingWithoutCopy(t, b));
        order = order != 0 ? order : Long.compare(ranks.cost(t, a), ranks.cost(t, b));
        order = order != 0 ? order : Boolean.compare(!previous.hadStandby(t, a), !previous.hadStandby(t, b));
        return order != 0 ? order : Long.compare(ranks.offsets(t, a), ranks.offsets(t, b));
    }
}
