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
import io.github.optassign.policy.BrokerPolicy;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Decides one call: which process gets which copy, and which thread of it.
 *
 * <p>The planner's answer has each task on a process that has its state, and warms up what its plan still lacks; the
 * broker is given these warm-ups as standbys. Once a warm-up is known to have caught up, the next answer has the active
 * there. The plan itself is given at once if that cannot work: no member sends offsets, so that no copy would ever be
 * known to have caught up; the broker warms up by itself; or the operator has said so.
 *
 * <p>A group that was running when this broker first saw it, after a failover say, has sent its offsets to another one.
 * For as long as they take to come again, its tasks stay where they are.
 */
final class Planning {
    /** Members send offsets every minute, by default; the longest allowed is not waited for. */
    static final long KEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(BrokerPolicy.KEEP_MS);

    /** Makes plans; tests have one that fails. */
    interface Planner {
        /** No member can ask for a follow-up here, so all slots are filled, as if the next call came by an interval. */
        Planner OURS = (snapshot, last) -> RebalancePlanner.answer(
                snapshot,
                last,
                RackTraffic.NONE,
                new Timing(System.currentTimeMillis(), true, Timing.Prices.NO_OFFLOAD));

        /**
         * Plans one rebalance.
         *
         * @param last the last answer; null: none is known
         */
        RebalancePlanner.Result plan(Snapshot snapshot, AppliedAnswer last);
    }

    /** How the plan was taken. */
    enum Mode {
        WARMING_UP,
        AT_ONCE,
        NO_OFFSETS
    }

    /**
     * What was decided.
     *
     * @param figures what the answer moves and leaves, for log and metrics
     * @param isReached whether every copy is where the plan has it
     * @param isServicesPlan whether it goes on from a plan of the service's
     * @param remarks what the planner does not serve, each in words
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
    private final BrokerConfig config;
    private final Planner planner;
    private final boolean isWarmedUpByBroker;
    private final long nowNanos;
    private final String topology;
    private final RestoringActives restoring;
    /** Null: nothing is remembered of this group and topology. */
    private final GroupMemory.Remembered remembered;

    /**
     * Prepares one call.
     *
     * @param remembered null: nothing
     * @param isWarmedUpByBroker whether the broker has been seen to warm up by itself
     */
    Planning(
            BrokerGroup group,
            BrokerConfig config,
            Planner planner,
            GroupMemory.Remembered remembered,
            boolean isWarmedUpByBroker,
            long nowNanos) {
        this.group = group;
        this.config = config;
        this.planner = planner;
        this.isWarmedUpByBroker = isWarmedUpByBroker;
        this.nowNanos = nowNanos;
        topology = group.tasks().toString();
        this.remembered = remembered != null && remembered.topology().equals(topology) ? remembered : null;
        restoring = findRestoring(group, config, this.remembered);
    }

    private static RestoringActives findRestoring(
            BrokerGroup group, BrokerConfig config, GroupMemory.Remembered remembered) {
        return group.findRestoring(remembered == null ? Map.of() : remembered.told(), config.acceptableLag());
    }

    /** Decides. Throws whatever the planner throws. */
    Decision decide() {
        Mode mode = chooseMode();
        Snapshot snapshot = toSnapshot(group, mode);
        AppliedAnswer last = remembered == null ? null : remembered.applied();
        AppliedAnswer before = last == null || last.isOvertaken(snapshot) ? null : last;
        AppliedAnswer basis = before == null || remembered.opinion() == null
                ? before
                : remembered.opinion().putInto(before, group);
        Set<String> leaving = before == null ? Set.of() : LeavingProcesses.findLeaving(group, remembered.threads());
        Snapshot ofOthers = leaving.isEmpty() ? snapshot : toSnapshot(group.without(leaving), mode);
        RebalancePlanner.Result planned = planner.plan(ofOthers, basis);
        RebalancePlanner.Result result =
                mode == Mode.WARMING_UP ? ActivesFirst.apply(ofOthers, planned) : takePlan(planned);
        if (!leaving.isEmpty()) {
            planned = LeavingProcesses.keepOthers(group, snapshot, remembered, ofOthers, result);
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
            // By this name it stays the plan for as long as the group is the same.
            named = RebalancePlanner.toAnswer(snapshot, result, basis.answer().assignor());
        }
        AppliedAnswer applied = AppliedAnswer.of("", System.currentTimeMillis(), named, snapshot);
        String application = group.findApplication(remembered == null ? null : remembered.application());
        boolean isAsked = config.service() != null && group.hasOffsets() && !isReached && leaving.isEmpty();
        SecondOpinion opinion = !isAsked
                ? null
                : new SecondOpinion(
                        application,
                        GroupFingerprint.after(group, answer),
                        snapshot,
                        group.toDetails(snapshot),
                        plan,
                        before);
        RebalanceFigures.Source source =
                isServicesPlan ? RebalanceFigures.Source.SERVICE : RebalanceFigures.Source.PLANNER;
        return new Decision(
                answer,
                toRemember(answer, applied, mode, application, opinion),
                mode,
                RebalanceFigures.of(snapshot, result.placement(), source, false, -1, -1),
                isReached,
                isServicesPlan,
                ClientKinds.remark(snapshot, group.tagNames()));
    }

    private Snapshot toSnapshot(BrokerGroup of, Mode mode) {
        Set<String> presumed = mode == Mode.NO_OFFSETS ? listUnchanged() : Set.of();
        return config.weigh(of.toSnapshot(config.acceptableLag(), config.maxWarmups(), presumed, restoring));
    }

    /** The processes without a new thread: who is just coming, thread by thread, has restored nothing yet. */
    private Set<String> listUnchanged() {
        Set<String> unchanged = new HashSet<>();
        group.processes().forEach((process, threads) -> {
            if (remembered != null
                    && threads.stream().allMatch(member -> remembered.active().containsKey(member.key()))) {
                unchanged.add(process);
            }
        });
        return unchanged;
    }

    /** Whether an answer is on its way to a plan of the service's, which another answer has. */
    private static boolean isPlanOf(Answer services, Answer answer) {
        if (services.isPlanners() || services.plan() == null || answer.plan() == null) {
            return false;
        }
        return listCopies(services.plan()).equals(listCopies(answer.plan()));
    }

    private static Map<String, List<Set<String>>> listCopies(List<Answer.Client> clients) {
        Map<String, List<Set<String>>> copies = new HashMap<>();
        clients.forEach(client -> copies.put(
                client.processId(), List.of(new HashSet<>(client.active()), new HashSet<>(client.standby()))));
        return copies;
    }

    private Mode chooseMode() {
        if (isWarmedUpByBroker || !config.isWarmingUp()) {
            return Mode.AT_ONCE;
        }
        boolean isKept = keepUntilNanos() - nowNanos > 0;
        return group.hasOffsets() || isKept ? Mode.WARMING_UP : Mode.NO_OFFSETS;
    }

    private long keepUntilNanos() {
        if (remembered != null) {
            return remembered.keepUntilNanos();
        }
        return group.hasOwners() ? nowNanos + KEEP_NANOS : nowNanos;
    }

    /** The plan in place of what would lead there. */
    private static RebalancePlanner.Result takePlan(RebalancePlanner.Result result) {
        Placement plan = result.plan() == null ? result.placement() : result.plan();
        Placement copies = new Placement(
                plan.active(),
                plan.standby(),
                Placement.empty(plan.active().length).warmup());
        return new RebalancePlanner.Result(
                copies, null, new RebalancePlanner.Followup(-1, List.of(), false, result.pace(), -1));
    }

    private GroupMemory.Remembered toRemember(
            MemberAnswer answer, AppliedAnswer applied, Mode mode, String application, SecondOpinion opinion) {
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
        boolean said = mode == Mode.NO_OFFSETS || (remembered != null && remembered.saidNoOffsets());
        return new GroupMemory.Remembered(
                applied,
                active,
                standby,
                threads,
                restoring.told(),
                topology,
                keepUntilNanos(),
                said,
                application,
                opinion);
    }

    private static int[] toArray(List<Integer> tasks) {
        return tasks.stream().mapToInt(Integer::intValue).toArray();
    }
}
