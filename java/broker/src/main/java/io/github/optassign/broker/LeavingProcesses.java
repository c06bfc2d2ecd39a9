package io.github.optassign.broker;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.policy.BrokerPolicy;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * A process that goes is missed thread by thread, each in a call of its own, so that for a moment it is a smaller one.
 * If the group were balanced for that moment, tasks would move between processes that have nothing to do with it, and
 * some of them back at the next call.
 *
 * <p>So while processes only lose threads, what these had goes where it would be without the whole process, and all
 * other copies stay. If the process has lost a thread and lives on, the threads are about as even as before, and the
 * next call plans for all of it.
 */
final class LeavingProcesses {
    /** Threads that come within it are of one start of their process. */
    static final long STARTING_NANOS = TimeUnit.MILLISECONDS.toNanos(BrokerPolicy.STARTING_MS);

    private final Snapshot snapshot;
    private final Snapshot ofOthers;
    /** Per process the remaining tasks of the last answer for its threads, an active or a standby. */
    private final List<BitSet> active = new ArrayList<>();

    private final List<BitSet> standby = new ArrayList<>();

    private LeavingProcesses(
            BrokerGroup group,
            Snapshot snapshot,
            Map<String, int[]> lastActive,
            Map<String, int[]> lastStandby,
            Snapshot ofOthers) {
        this.snapshot = snapshot;
        this.ofOthers = ofOthers;
        for (List<Member> threads : group.processes().values()) {
            active.add(unite(threads, lastActive));
            standby.add(unite(threads, lastStandby));
        }
    }

    /** The last answer's tasks, not Kafka's lists, which lack tasks on their way. */
    private static BitSet unite(List<Member> threads, Map<String, int[]> given) {
        BitSet tasks = new BitSet();
        for (Member member : threads) {
            IntStream.of(given.getOrDefault(member.key(), new int[0])).forEach(tasks::set);
        }
        return tasks;
    }

    /**
     * Finds the processes that have lost threads since the last answer and will lose the others, if no process has come
     * since and others are there. A process that has lost only threads older than one of its present threads is back
     * already: killed, and started again before it was missed.
     *
     * @param last the members at the last answer
     */
    static Set<String> findLeaving(BrokerGroup group, Map<String, GroupMemory.KnownThread> last) {
        Map<String, Long> newest = new HashMap<>();
        Set<String> present = new HashSet<>();
        for (Member member : group.members()) {
            if (!last.containsKey(member.key())) {
                return Set.of();
            }
            present.add(member.key());
            newest.merge(member.process(), last.get(member.key()).sinceNanos(), LeavingProcesses::later);
        }
        Set<String> leaving = new HashSet<>();
        last.forEach((id, thread) -> {
            Long start = newest.get(thread.process());
            if (!present.contains(id) && start != null && start - thread.sinceNanos() <= STARTING_NANOS) {
                leaving.add(thread.process());
            }
        });
        return leaving.size() == newest.size() ? Set.of() : leaving;
    }

    private static long later(long one, long other) {
        return one - other > 0 ? one : other;
    }

    /**
     * The answer while processes leave.
     *
     * @param snapshot of the whole group
     * @param last the last answer
     * @param ofOthers the group without the processes that leave
     * @param result what is planned for it
     */
    static RebalancePlanner.Result keepOthers(
            BrokerGroup group,
            Snapshot snapshot,
            GroupMemory.Remembered last,
            Snapshot ofOthers,
            RebalancePlanner.Result result) {
        LeavingProcesses leaving = new LeavingProcesses(group, snapshot, last.active(), last.standby(), ofOthers);
        Placement placement = leaving.toWhole(result.placement());
        Placement plan = result.plan() == null ? placement.copy() : leaving.toWhole(result.plan());
        Placement before = new Previous(snapshot, last.applied()).remembered();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            for (int t : leaving.active.get(c).stream().toArray()) {
                leaving.keep(t, c, before, placement);
            }
        }
        return new RebalancePlanner.Result(placement, plan, result.followup());
    }

    /** Leaves a task whose active is not lost unchanged, and replaces its lost standbys. */
    private void keep(int t, int owner, Placement before, Placement placement) {
        int[] planned = IntStream.concat(
                        IntStream.of(placement.standby()[t]),
                        IntStream.of(placement.active()[t]))
                .toArray();
        placement.active()[t] = owner;
        placement.standby()[t] = listPresent(t, owner, before.standby()[t]);
        placement.warmup()[t] = listPresent(t, owner, before.warmup()[t]);
        for (int c : planned) {
            boolean isMissing = snapshot.isLogged(t) && placement.standby()[t].length < snapshot.standbysPerTask();
            if (isMissing && !placement.hasCopy(t, c)) {
                placement.warmup()[t] = IntStream.of(placement.warmup()[t])
                        .filter(other -> other != c)
                        .toArray();
                placement.addStandby(t, c);
            }
        }
    }

    private int[] listPresent(int t, int owner, int[] clients) {
        return IntStream.of(clients)
                .filter(c -> c != owner && standby.get(c).get(t))
                .toArray();
    }

    /** The same by the indices of the whole group. */
    private Placement toWhole(Placement of) {
        Placement whole = Placement.empty(snapshot.taskCount());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            whole.active()[t] = toWhole(of.active()[t]);
            for (int c : of.standby()[t]) {
                whole.addStandby(t, toWhole(c));
            }
            for (int c : of.warmup()[t]) {
                whole.addWarmup(t, toWhole(c));
            }
        }
        return whole;
    }

    private int toWhole(int c) {
        return snapshot.clientIndex(ofOthers.clientName(c));
    }
}
