package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.BrokerPolicy;
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
 * Turns an answer of processes into one of their threads ({@link Dealer}): first actives, then the warm-ups that will
 * be active, then the other copies.
 *
 * <p>A thread that has a warm-up takes it over as active at one heartbeat; another one would have to wait until the
 * first has let it go. So a warm-up stays with its thread, and actives are even as they will be once all warm-ups are
 * there: until then threads may have more and less than is even now. But a thread without a copy to restore takes one
 * that another thread has to restore next to other copies, while much of it is left: that saves more than a heartbeat.
 *
 * <p>If tasks have weights, threads have even loads instead ({@link LoadDealer}).
 */
public final class Threads {
    /** A copy that has to be restored soon is more work than one that only stays. */
    private static final int COMING = 1 << 16;

    private final BrokerGroup group;
    private final Map<String, Integer> memberIndex = new HashMap<>();
    private final Map<String, int[]> lastStandby;
    private final Map<String, int[]> lastActive;

    /** Null: tasks count the same. */
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
     * Deals a placement.
     *
     * @param plan the target placement
     * @param lastActive member to the tasks that the last answer gave it as active; what is on its way is in no list of
     *     Kafka's, and must not be sent elsewhere
     * @param lastStandby the same of standbys
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
        List<Set<Integer>> far = new ArrayList<>();
        List<List<Integer>> active = newLists(snapshot.clientCount());
        List<List<Integer>> coming = newLists(snapshot.clientCount());
        List<List<Integer>> standby = newLists(snapshot.clientCount());
        for (int c = 0; c < snapshot.clientCount(); c++) {
            far.add(new HashSet<>());
        }
        for (int t = 0; t < group.tasks().size(); t++) {
            active.get(placement.active()[t]).add(t);
            for (int c : placement.standby()[t]) {
                (plan.active()[t] == c ? coming : standby).get(c).add(t);
            }
            for (int c : placement.warmup()[t]) {
                (plan.active()[t] == c ? coming : standby).get(c).add(t);
            }
            int next = plan.active()[t];
            if (next != placement.active()[t] && isFar(snapshot, t, next)) {
                far.get(next).add(t);
            }
        }
        MemberAnswer answer = new MemberAnswer(group.members().size());
        for (int c = 0; c < snapshot.clientCount(); c++) {
            deal(
                    group.processes().get(snapshot.clientName(c)),
                    toArray(active.get(c)),
                    toArray(coming.get(c)),
                    toArray(standby.get(c)),
                    far.get(c),
                    answer);
        }
        return answer;
    }

    /** Whether much of a task's state is still to be restored, or it is not known how much. */
    private static boolean isFar(Snapshot snapshot, int t, int c) {
        long lag = snapshot.lag(t, c);
        boolean isKnown = lag >= 0 && snapshot.endOffset(t) >= 0;
        return lag != Snapshot.RUNNING && (!isKnown || lag >= snapshot.endOffset(t) * BrokerPolicy.MUCH);
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
            List<Member> threads, int[] active, int[] coming, int[] standby, Set<Integer> far, MemberAnswer answer) {
        Map<Integer, Integer> hadActive = new HashMap<>();
        Map<Integer, Integer> hadStandby = new HashMap<>();
        for (int k = 0; k < threads.size(); k++) {
            remember(hadActive, lastActive.get(threads.get(k).key()), k);
            remember(hadStandby, lastStandby.get(threads.get(k).key()), k);
        }
        for (int k = 0; k < threads.size(); k++) {
            remember(hadActive, threads.get(k).active(), k);
            remember(hadStandby, threads.get(k).standby(), k);
        }
        Dealer dealer = new Dealer(group.tasks(), threads.size());
        int[] load = new int[threads.size()];
        int[] ofActive;
        int[] ofComing;
        if (weights == null) {
            int most = (active.length + coming.length + threads.size() - 1) / threads.size();
            int[] quota = new int[threads.size()];
            Arrays.fill(quota, most);
            ofActive = coming.length == 0
                    ? dealer.deal(active, look(hadActive, active), look(hadStandby, active), load)
                    : dealer.dealWithin(quota, active, look(hadActive, active), look(hadStandby, active));
            count(ofActive, 1, load);
            ofComing = dealComing(dealer, coming, look(hadStandby, coming), far, load, most);
        } else {
            int[] both = dealByLoad(active, coming, hadActive, hadStandby, threads.size());
            ofActive = Arrays.copyOf(both, active.length);
            ofComing = Arrays.copyOfRange(both, active.length, both.length);
            count(ofActive, 1, load);
        }
        count(ofComing, COMING, load);
        for (int i = 0; i < active.length; i++) {
            answer.addActive(memberIndex.get(threads.get(ofActive[i]).key()), active[i]);
        }
        for (int i = 0; i < coming.length; i++) {
            answer.addStandby(memberIndex.get(threads.get(ofComing[i]).key()), coming[i]);
        }
        int[] ofStandby = dealer.deal(standby, look(hadStandby, standby), look(hadActive, standby), load);
        for (int i = 0; i < standby.length; i++) {
            answer.addStandby(memberIndex.get(threads.get(ofStandby[i]).key()), standby[i]);
        }
    }

    private static void count(int[] dealt, int each, int[] load) {
        for (int k : dealt) {
            load[k] += each;
        }
    }

    /** Deals actives and the warm-ups that will be active by their weights; a warm-up stays with its thread. */
    private int[] dealByLoad(
            int[] active,
            int[] coming,
            Map<Integer, Integer> hadActive,
            Map<Integer, Integer> hadStandby,
            int threads) {
        int[] copies =
                IntStream.concat(Arrays.stream(active), Arrays.stream(coming)).toArray();
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

    /** Each to the thread that has it, otherwise to one that lacks actives; far ones are even then. */
    private static int[] dealComing(
            Dealer dealer, int[] coming, int[] before, Set<Integer> far, int[] actives, int most) {
        int[] quota = new int[actives.length];
        for (int m : before) {
            if (m >= 0) {
                quota[m]++;
            }
        }
        for (int k = 0; k < quota.length; k++) {
            quota[k] = Math.max(quota[k], most - actives[k]);
        }
        int[] dealt = dealer.dealWithin(quota, coming, before, before);
        int[] count = new int[actives.length];
        for (int i = 0; i < coming.length; i++) {
            count[dealt[i]] += far.contains(coming[i]) ? 1 : 0;
        }
        for (int i = coming.length - 1; i >= 0; i--) {
            int fewest = findFewest(count);
            if (far.contains(coming[i]) && count[dealt[i]] - count[fewest] >= 2) {
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

    private static void remember(Map<Integer, Integer> had, int[] listed, int k) {
        for (int t : listed == null ? new int[0] : listed) {
            had.put(t, k);
        }
    }

    private static int[] look(Map<Integer, Integer> had, int[] copies) {
        return Arrays.stream(copies).map(t -> had.getOrDefault(t, -1)).toArray();
    }
}
