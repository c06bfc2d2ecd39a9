package io.github.optassign.broker;

import io.github.optassign.broker.dealing.MemberAnswer;
import io.github.optassign.broker.dealing.Threads;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.broker.group.RestoringActives;
import io.github.optassign.broker.opinion.GroupFingerprint;
import io.github.optassign.broker.opinion.SecondOpinion;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.metrics.RebalanceFigures;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.ClientKinds;
import io.github.optassign.planner.RebalancePlanner;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The decision of one call: the process and the thread of each copy.
 *
 * <p>The planner's answer has each task on a process with its state, and warms up the copies that the plan still lacks;
 * the broker gets these warm-ups as standbys. Once a warm-up has caught up, the next answer moves the active to it. The
 * plan is applied at once if warm-ups are impossible or unwanted: no member sends offsets, so no copy would ever count
 * as caught up; the broker has warm-ups of its own; or the operator has turned them off.
 *
 * <p>A group that was running before this broker became its coordinator has sent its offsets to another broker. Its
 * tasks stay on their owners until offsets are due again.
 */
final class Planning {
    /**
     * The time for which tasks of a group that is new to this broker stay on their owners. It exceeds the default
     * interval of members' offsets, a minute; the longest allowed interval would be too long.
     */
    static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(90);

    /** The planner of a call. Tests use planners that fail. */
    interface Planner {
        /**
         * The {@link RebalancePlanner}. Members cannot ask for follow-ups, so all slots are filled, as with follow-ups
         * by interval.
         */
        Planner DEFAULT = (snapshot, last) -> RebalancePlanner.answer(
                snapshot,
                last,
                RackTraffic.NONE,
                new Timing(System.currentTimeMillis(), true, Timing.Prices.NO_OFFLOAD));

        /**
         * Plans one rebalance.
         *
         * @param last the last answer, or null if unknown
         */
        RebalancePlanner.Result plan(Snapshot snapshot, AppliedAnswer last);
    }

    /** The mode of moves to the plan. */
    enum Mode {
        /** Tasks move step by step, with warm-ups. */
        WARMING_UP,
        /** Tasks move at once, without warm-ups. */
        AT_ONCE,
        /** Tasks move at once, since no member sends offsets. */
        NO_OFFSETS
    }

    /**
     * A decision.
     *
     * @param figures the answer in numbers, for log and metrics
     * @param isReached whether every copy is on its planned process
     * @param isServicesPlan whether the answer leads to a plan of the service
     * @param remarks messages on tags that the planner ignores
     */
    record Decision(
            MemberAnswer answer,
            GroupMemory.Remembered toRemember,
            Mode mode,
            RebalanceFigures figures,
            boolean isReached,
            boolean isServicesPlan,
            List<String> remarks) {}

    private final BrokerGroup group;
    private final String name;
    private final BrokerConfig config;
    private final Planner planner;
    private final boolean isWarmedUpByBroker;
    private final long nowNanos;
    private final String topology;
    private final RestoringActives restoring;
    private final double[] ends;
    private final boolean isContinuing;
    /** The memory of the group; null if it is unknown or has another topology. */
    private final GroupMemory.Remembered remembered;

    /**
     * Prepares one call.
     *
     * @param name the group's name for the service and the next call
     * @param remembered the memory of the group, or null if unknown
     * @param isWarmedUpByBroker whether the broker has warm-ups of its own
     */
    Planning(
            BrokerGroup group,
            String name,
            BrokerConfig config,
            Planner planner,
            GroupMemory.Remembered remembered,
            boolean isWarmedUpByBroker,
            long nowNanos) {
        this.group = group;
        this.name = name;
        this.config = config;
        this.planner = planner;
        this.isWarmedUpByBroker = isWarmedUpByBroker;
        this.nowNanos = nowNanos;
        topology = group.tasks().toString();
        this.remembered = remembered != null && remembered.topology().equals(topology) ? remembered : null;
        isContinuing = this.remembered != null && remembered.isCurrent(group);
        restoring = findRestoring(group, config, this.remembered);
        ends = findEnds(group, this.remembered);
    }

    private static RestoringActives findRestoring(
            BrokerGroup group, BrokerConfig config, GroupMemory.Remembered remembered) {
        return group.findRestoring(remembered == null ? Map.of() : remembered.reports(), config.acceptableLag());
    }

    /** Returns per task the last known end offset of its changelog, or -1; an old one tells weights, too. */
    private static double[] findEnds(BrokerGroup group, GroupMemory.Remembered remembered) {
        double[] ends = group.knownEnds();
        if (remembered != null) {
            Arrays.setAll(ends, t -> ends[t] < 0 ? remembered.ends()[t] : ends[t]);
        }
        return ends;
    }

    /** Returns whether the decision continues the remembered answer. */
    boolean isContinuing() {
        return isContinuing;
    }

    /** Returns the decision of this call. Exceptions of the planner propagate. */
    Decision decide() {
        Mode mode = chooseMode();
        Snapshot snapshot = toSnapshot(group, mode);
        AppliedAnswer before = isContinuing ? remembered.applied() : null;
        AppliedAnswer basis = before == null || remembered.opinion() == null
                ? before
                : remembered.opinion().putInto(before, group);
        Set<String> leaving = before == null ? Set.of() : LeavingProcesses.findLeaving(group, remembered.threads());
        Snapshot withoutLeaving = leaving.isEmpty() ? snapshot : toSnapshot(group.without(leaving), mode);
        RebalancePlanner.Result planned = planner.plan(withoutLeaving, basis);
        RebalancePlanner.Result result =
                mode == Mode.WARMING_UP ? ActivesFirst.apply(withoutLeaving, planned) : applyAtOnce(planned);
        if (!leaving.isEmpty()) {
            planned = LeavingProcesses.keepOthers(group, snapshot, remembered, withoutLeaving, result);
            result = planned;
        }
        Placement plan = planned.plan() == null ? planned.placement() : planned.plan();
        boolean isReached = planned.plan() == null;
        MemberAnswer answer = Threads.deal(
                group,
                snapshot,
                result.placement(),
                plan,
                before == null ? Map.of() : remembered.active(),
                before == null ? Map.of() : remembered.standby());
        Answer named = RebalancePlanner.toAnswer(snapshot, result);
        boolean isServicesPlan = basis != null && isPlanOf(basis.answer(), named);
        if (isServicesPlan) {
            // The assignor's name marks the plan as the service's, so later calls keep it while the group is the same.
            named = RebalancePlanner.toAnswer(snapshot, result, basis.answer().assignor());
        }
        AppliedAnswer applied = AppliedAnswer.of("", System.currentTimeMillis(), named, snapshot);
        // The request has no weights, so the service would plan by numbers of tasks.
        boolean isAsked = config.service() != null
                && group.hasOffsets()
                && !isReached
                && leaving.isEmpty()
                && snapshot.weights() == null;
        SecondOpinion opinion = !isAsked
                ? null
                : new SecondOpinion(
                        name, GroupFingerprint.after(group, answer), snapshot, group.toDetails(snapshot), plan, before);
        RebalanceFigures.Source source =
                isServicesPlan ? RebalanceFigures.Source.SERVICE : RebalanceFigures.Source.PLANNER;
        return new Decision(
                answer,
                toRemember(answer, applied, mode, opinion),
                mode,
                RebalanceFigures.of(snapshot, result.placement(), source, false, -1, -1),
                isReached,
                isServicesPlan,
                ClientKinds.describeIgnoredTags(snapshot, group.tagNames()));
    }

    private Snapshot toSnapshot(BrokerGroup part, Mode mode) {
        Set<String> presumedCaughtUp = mode == Mode.NO_OFFSETS ? listWithoutNewThreads() : Set.of();
        Snapshot snapshot = part.toSnapshot(config.acceptableLag(), config.maxWarmups(), presumedCaughtUp, restoring);
        return config.weigh(snapshot, ends);
    }

    /**
     * Returns the processes without a new thread. The threads of a starting process join one by one, and have restored
     * nothing yet.
     */
    private Set<String> listWithoutNewThreads() {
        Set<String> unchanged = new HashSet<>();
        group.processes().forEach((process, threads) -> {
            if (remembered != null
                    && threads.stream().allMatch(member -> remembered.active().containsKey(member.key()))) {
                unchanged.add(process);
            }
        });
        return unchanged;
    }

    /** Returns whether an answer leads to the plan of the service's answer. */
    private static boolean isPlanOf(Answer services, Answer answer) {
        boolean isUnderWay = services.plan() != null && answer.plan() != null;
        return !services.isByPlanner() && isUnderWay && answer.hasPlanOf(services);
    }

    private Mode chooseMode() {
        if (isWarmedUpByBroker || !config.isWarmingUp()) {
            return Mode.AT_ONCE;
        }
        boolean isKept = keepUntilNanos() - nowNanos > 0;
        return group.hasOffsets() || isKept ? Mode.WARMING_UP : Mode.NO_OFFSETS;
    }

    private long keepUntilNanos() {
        if (!isContinuing) {
            return group.hasOwners() ? nowNanos + KEEP_NANOS : nowNanos;
        }
        return remembered.hadOffsets() || isSilenceNatural() ? nowNanos + KEEP_NANOS : remembered.keepUntilNanos();
    }

    /** Returns whether no member had to send offsets: they send none of running tasks, and no copy was restored. */
    private boolean isSilenceNatural() {
        boolean isOld =
                remembered.threads().values().stream().anyMatch(thread -> nowNanos - thread.sinceNanos() > KEEP_NANOS);
        return isOld && remembered.standby().values().stream().allMatch(tasks -> tasks.length == 0);
    }

    /** Returns a result that applies the plan at once. */
    private static RebalancePlanner.Result applyAtOnce(RebalancePlanner.Result result) {
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        Placement copies = new Placement(
                plan.active(),
                plan.standby(),
                Placement.empty(plan.active().length).warmup());
        return new RebalancePlanner.Result(copies, null, -1, List.of(), false, result.pace(), -1);
    }

    private GroupMemory.Remembered toRemember(
            MemberAnswer answer, AppliedAnswer applied, Mode mode, SecondOpinion opinion) {
        Map<String, int[]> active = new HashMap<>();
        Map<String, int[]> standby = new HashMap<>();
        for (int m = 0; m < answer.size(); m++) {
            String key = group.members().get(m).key();
            active.put(key, toArray(answer.active(m)));
            standby.put(key, toArray(answer.standby(m)));
        }
        Map<String, GroupMemory.KnownThread> threads = new HashMap<>();
        for (Member member : group.members()) {
            GroupMemory.KnownThread known =
                    remembered == null ? null : remembered.threads().get(member.key());
            threads.put(member.key(), known != null ? known : new GroupMemory.KnownThread(member.process(), nowNanos));
        }
        boolean isNoOffsetsLogged = mode == Mode.NO_OFFSETS || (remembered != null && remembered.isNoOffsetsLogged());
        return new GroupMemory.Remembered(
                applied,
                active,
                standby,
                threads,
                restoring.reports(),
                ends,
                topology,
                keepUntilNanos(),
                group.hasOffsets(),
                isNoOffsetsLogged,
                name,
                opinion);
    }

    private static int[] toArray(List<Integer> tasks) {
        return tasks.stream().mapToInt(Integer::intValue).toArray();
    }
}
