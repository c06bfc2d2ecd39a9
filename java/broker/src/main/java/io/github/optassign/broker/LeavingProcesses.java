package io.github.optassign.broker;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.learn.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
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
 * The handling of processes that leave. The coordinator removes their threads in one call each, so for a moment such a
 * process only looks smaller. If the group were balanced in that moment, tasks would move between other processes, and
 * partly back at the next call.
 *
 * <p>While processes only lose threads, the copies of lost threads go to where they would be without the whole process,
 * and all other copies stay. If the process has only lost a thread and continues, the other threads remain about as
 * balanced as before. The next call plans for the whole group.
 */
final class LeavingProcesses {
    /**
     * The time within which joining threads belong to one start of their process. A process starts its threads within
     * seconds.
     */
    static final long STARTING_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Snapshot snapshot;
    private final Snapshot withoutLeaving;
    /** Per process the active tasks that the last answer gave to its remaining threads. */
    private final List<BitSet> active = new ArrayList<>();

    /** Per process the standbys that the last answer gave to its remaining threads. */
    private final List<BitSet> standby = new ArrayList<>();

    private LeavingProcesses(
            BrokerGroup group,
            Snapshot snapshot,
            Map<String, int[]> lastActive,
            Map<String, int[]> lastStandby,
            Snapshot withoutLeaving) {
        this.snapshot = snapshot;
        this.withoutLeaving = withoutLeaving;
        for (List<Member> threads : group.processes().values()) {
            active.add(unite(threads, lastActive));
            standby.add(unite(threads, lastStandby));
        }
    }

    /** Returns the last answer's tasks of the threads. Kafka's lists would lack tasks in transit. */
    private static BitSet unite(List<Member> threads, Map<String, int[]> given) {
        BitSet tasks = new BitSet();
        for (Member member : threads) {
            IntStream.of(given.getOrDefault(member.key(), new int[0])).forEach(tasks::set);
        }
        return tasks;
    }

    /**
     * Returns the processes that have lost threads since the last answer and are likely to lose the others. A process
     * has restarted if a present thread is newer than all its lost threads by more than {@link #STARTING_NANOS}.
     *
     * @param last the members at the last answer
     * @return empty if a member has joined since, or all processes would leave
     */
    static Set<String> findLeaving(BrokerGroup group, Map<String, GroupMemory.KnownThread> last) {
        Map<String, Long> newest = new HashMap<>();
        Set<String> present = new HashSet<>();
        for (Member member : group.members()) {
            if (!last.containsKey(member.key())) {
                return Set.of();
            }
            present.add(member.key());
            newest.merge(member.process(), last.get(member.key()).sinceNanos(), LeavingProcesses::latest);
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

    private static long latest(long one, long other) {
        return one - other > 0 ? one : other;
    }

    /**
     * Returns the answer while processes leave: the previous one, with the lost copies placed as planned without those
     * processes.
     *
     * @param snapshot the whole group
     * @param last the memory of the last answer
     * @param withoutLeaving the group without the leaving processes
     * @param result the plan for that smaller group
     */
    static RebalancePlanner.Result keepOthers(
            BrokerGroup group,
            Snapshot snapshot,
            GroupMemory.Remembered last,
            Snapshot withoutLeaving,
            RebalancePlanner.Result result) {
        LeavingProcesses leaving = new LeavingProcesses(group, snapshot, last.active(), last.standby(), withoutLeaving);
        Placement placement = leaving.toWholeGroup(result.placement());
        Placement plan = result.plan() == null ? placement.copy() : leaving.toWholeGroup(result.plan());
        Placement before = new Previous(snapshot, last.applied()).remembered();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            for (int t : leaving.active.get(c).stream().toArray()) {
                leaving.keep(t, c, before, placement);
            }
        }
        return result.withCopies(placement, plan, result.progress());
    }

    /** Keeps the copies of a task whose active is not lost, and replaces its lost standbys. */
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

    /** Converts a placement of the smaller group into indices of the whole group. */
    private Placement toWholeGroup(Placement placement) {
        Placement whole = Placement.empty(snapshot.taskCount());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            whole.active()[t] = toWholeGroup(placement.active()[t]);
            for (int c : placement.standby()[t]) {
                whole.addStandby(t, toWholeGroup(c));
            }
            for (int c : placement.warmup()[t]) {
                whole.addWarmup(t, toWholeGroup(c));
            }
        }
        return whole;
    }

    private int toWholeGroup(int c) {
        return snapshot.clientIndex(withoutLeaving.clientName(c));
    }
}
