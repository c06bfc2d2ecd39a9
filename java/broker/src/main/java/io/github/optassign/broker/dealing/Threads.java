package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The distribution of a placement to the threads of each process ({@link Dealer}): first actives, then next actives,
 * which are copies that the plan makes active, then the other copies.
 *
 * <p>A thread makes its own warm-up active within one heartbeat; another thread would have to wait until the first has
 * closed it. So a next active stays on its thread, and threads are balanced for the time when all next actives have
 * caught up. Until then, their numbers of actives may differ. As an exception, next actives with much left to restore
 * are spread evenly over threads, which saves more than a heartbeat.
 *
 * <p>If tasks have weights, threads have even loads instead ({@link LoadDealer}).
 */
public final class Threads {
    /**
     * The share of a changelog that must be left to restore for a copy to change threads. A nearly restored copy stays.
     */
    private static final double MUCH = 0.25;

    /** The load of a next active, which has to be restored, relative to an active that stays. */
    private static final int NEXT_ACTIVE_LOAD = 1 << 16;

    private final BrokerGroup group;
    private final Map<String, Integer> memberIndex = new HashMap<>();
    private final Map<String, int[]> lastStandby;
    private final Map<String, int[]> lastActive;

    /** The weights of tasks; null if tasks are counted. */
    private final Weights weights;

    private Threads(BrokerGroup group, Weights weights, Map<String, int[]> lastActive, Map<String, int[]> lastStandby) {
        this.group = group;
        this.weights = weights;
        this.lastActive = lastActive;
        this.lastStandby = lastStandby;
        for (int m = 0; m < group.members().size(); m++) {
            memberIndex.put(group.members().get(m).key(), m);
        }
    }

    /**
     * Distributes a placement to threads.
     *
     * @param plan the target placement
     * @param lastActive the active tasks of each member in the last answer. Kafka's lists lack tasks in transit, which
     *     must not be sent to another thread
     * @param lastStandby the standbys of each member in the last answer
     */
    public static MemberAnswer deal(
            BrokerGroup group,
            Snapshot snapshot,
            Placement placement,
            Placement plan,
            Map<String, int[]> lastActive,
            Map<String, int[]> lastStandby) {
        return new Threads(group, snapshot.weights(), lastActive, lastStandby).deal(snapshot, placement, plan);
    }

    private MemberAnswer deal(Snapshot snapshot, Placement placement, Placement plan) {
        List<Set<Integer>> unrestored = new ArrayList<>();
        List<List<Integer>> active = newLists(snapshot.clientCount());
        List<List<Integer>> nextActive = newLists(snapshot.clientCount());
        List<List<Integer>> standby = newLists(snapshot.clientCount());
        for (int c = 0; c < snapshot.clientCount(); c++) {
            unrestored.add(new HashSet<>());
        }
        for (int t = 0; t < group.tasks().size(); t++) {
            active.get(placement.active()[t]).add(t);
            for (int c : placement.standby()[t]) {
                (plan.active()[t] == c ? nextActive : standby).get(c).add(t);
            }
            for (int c : placement.warmup()[t]) {
                (plan.active()[t] == c ? nextActive : standby).get(c).add(t);
            }
            int next = plan.active()[t];
            if (next != placement.active()[t] && hasMuchToRestore(snapshot, t, next)) {
                unrestored.get(next).add(t);
            }
        }
        MemberAnswer answer = new MemberAnswer(group.members().size());
        for (int c = 0; c < snapshot.clientCount(); c++) {
            deal(
                    group.processes().get(snapshot.clientName(c)),
                    toArray(active.get(c)),
                    toArray(nextActive.get(c)),
                    toArray(standby.get(c)),
                    unrestored.get(c),
                    answer);
        }
        return answer;
    }

    /** Returns whether {@link #MUCH} of a task's changelog, or an unknown share, is left to restore. */
    private static boolean hasMuchToRestore(Snapshot snapshot, int t, int c) {
        long lag = snapshot.lag(t, c);
        boolean isKnown = lag >= 0 && snapshot.endOffset(t) >= 0;
        return lag != Snapshot.RUNNING && (!isKnown || lag >= snapshot.endOffset(t) * MUCH);
    }

    private static List<List<Integer>> newLists(int count) {
        return Stream.generate(() -> (List<Integer>) new ArrayList<Integer>())
                .limit(count)
                .toList();
    }

    private static int[] toArray(List<Integer> tasks) {
        return tasks.stream().mapToInt(Integer::intValue).toArray();
    }

    private void deal(
            List<Member> threads,
            int[] active,
            int[] nextActive,
            int[] standby,
            Set<Integer> unrestored,
            MemberAnswer answer) {
        Map<Integer, Integer> hadActive = new HashMap<>();
        Map<Integer, Integer> hadStandby = new HashMap<>();
        for (int k = 0; k < threads.size(); k++) {
            putThread(hadActive, lastActive.get(threads.get(k).key()), k);
            putThread(hadStandby, lastStandby.get(threads.get(k).key()), k);
        }
        for (int k = 0; k < threads.size(); k++) {
            putThread(hadActive, threads.get(k).active(), k);
            putThread(hadStandby, threads.get(k).standby(), k);
        }
        Dealer dealer = new Dealer(group.tasks(), threads.size());
        int[] load = new int[threads.size()];
        int[] activeThread;
        int[] nextActiveThread;
        if (weights == null) {
            int most = (active.length + nextActive.length + threads.size() - 1) / threads.size();
            int[] quota = new int[threads.size()];
            Arrays.fill(quota, most);
            activeThread = nextActive.length == 0
                    ? dealer.deal(active, findThreads(hadActive, active), findThreads(hadStandby, active), load)
                    : dealer.dealWithin(quota, active, findThreads(hadActive, active), findThreads(hadStandby, active));
            count(activeThread, 1, load);
            nextActiveThread =
                    dealNextActive(dealer, nextActive, findThreads(hadStandby, nextActive), unrestored, load, most);
        } else {
            int[] both = dealByLoad(active, nextActive, hadActive, hadStandby, threads.size());
            activeThread = Arrays.copyOf(both, active.length);
            nextActiveThread = Arrays.copyOfRange(both, active.length, both.length);
            count(activeThread, 1, load);
        }
        count(nextActiveThread, NEXT_ACTIVE_LOAD, load);
        for (int i = 0; i < active.length; i++) {
            answer.addActive(memberIndex.get(threads.get(activeThread[i]).key()), active[i]);
        }
        for (int i = 0; i < nextActive.length; i++) {
            answer.addStandby(memberIndex.get(threads.get(nextActiveThread[i]).key()), nextActive[i]);
        }
        int[] standbyThread =
                dealer.deal(standby, findThreads(hadStandby, standby), findThreads(hadActive, standby), load);
        for (int i = 0; i < standby.length; i++) {
            answer.addStandby(memberIndex.get(threads.get(standbyThread[i]).key()), standby[i]);
        }
    }

    private static void count(int[] dealt, int each, int[] load) {
        for (int k : dealt) {
            load[k] += each;
        }
    }

    /** Distributes actives and next actives by weight. A next active stays on its thread. */
    private int[] dealByLoad(
            int[] active,
            int[] nextActive,
            Map<Integer, Integer> hadActive,
            Map<Integer, Integer> hadStandby,
            int threads) {
        int[] copies = IntStream.concat(Arrays.stream(active), Arrays.stream(nextActive))
                .toArray();
        double[] weight = new double[copies.length];
        int[] before = new int[copies.length];
        boolean[] pinned = new boolean[copies.length];
        for (int i = 0; i < copies.length; i++) {
            weight[i] = weights.ofTask()[copies[i]];
            pinned[i] = i >= active.length;
            int asStandby = hadStandby.getOrDefault(copies[i], -1);
            before[i] = pinned[i] ? asStandby : hadActive.getOrDefault(copies[i], asStandby);
        }
        return LoadDealer.deal(weight, before, pinned, threads, weights);
    }

    /**
     * Distributes next actives: each to its thread, otherwise to a thread below its quota. Spreads next actives with
     * much left to restore evenly.
     */
    private static int[] dealNextActive(
            Dealer dealer, int[] nextActive, int[] before, Set<Integer> unrestored, int[] actives, int most) {
        int[] quota = new int[actives.length];
        for (int m : before) {
            if (m >= 0) {
                quota[m]++;
            }
        }
        for (int k = 0; k < quota.length; k++) {
            quota[k] = Math.max(quota[k], most - actives[k]);
        }
        int[] dealt = dealer.dealWithin(quota, nextActive, before, before);
        int[] count = new int[actives.length];
        for (int i = 0; i < nextActive.length; i++) {
            count[dealt[i]] += unrestored.contains(nextActive[i]) ? 1 : 0;
        }
        for (int i = nextActive.length - 1; i >= 0; i--) {
            int fewest = findFewest(count);
            if (unrestored.contains(nextActive[i]) && count[dealt[i]] - count[fewest] >= 2) {
                count[dealt[i]]--;
                dealt[i] = fewest;
                count[fewest]++;
            }
        }
        return dealt;
    }

    private static int findFewest(int[] count) {
        int fewest = 0;
        for (int k = 1; k < count.length; k++) {
            fewest = count[k] < count[fewest] ? k : fewest;
        }
        return fewest;
    }

    private static void putThread(Map<Integer, Integer> had, int[] listed, int k) {
        for (int t : listed == null ? new int[0] : listed) {
            had.put(t, k);
        }
    }

    private static int[] findThreads(Map<Integer, Integer> had, int[] copies) {
        return Arrays.stream(copies).map(t -> had.getOrDefault(t, -1)).toArray();
    }
}
