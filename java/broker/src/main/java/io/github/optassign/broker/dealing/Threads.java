package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.broker.group.TaskTable;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Turns an answer of processes into one of their threads ({@link Dealer}): first actives, then standbys and warm-ups
 * together, since to a thread they are the same.
 */
public final class Threads {
    private final BrokerGroup group;
    private final Map<String, Integer> memberIndex = new HashMap<>();
    private final Map<String, int[]> lastStandby;
    private final Map<String, int[]> lastActive;

    private Threads(BrokerGroup group, Map<String, int[]> lastActive, Map<String, int[]> lastStandby) {
        this.group = group;
        this.lastActive = lastActive;
        this.lastStandby = lastStandby;
        for (int m = 0; m < group.members().size(); m++) {
            memberIndex.put(group.members().get(m).id(), m);
        }
    }

    /**
     * Deals a placement.
     *
     * @param lastActive member to the tasks that the last answer gave it as active; what is on its way is in no list of
     *     Kafka's, and must not be sent elsewhere
     * @param lastStandby the same of standbys
     */
    public static MemberAnswer deal(
            BrokerGroup group,
            Snapshot snapshot,
            Placement placement,
            Map<String, int[]> lastActive,
            Map<String, int[]> lastStandby) {
        return new Threads(group, lastActive, lastStandby).deal(snapshot, placement);
    }

    private MemberAnswer deal(Snapshot snapshot, Placement placement) {
        TaskTable tasks = group.tasks();
        int[][] active = new int[snapshot.clientCount()][];
        int[][] standby = new int[snapshot.clientCount()][];
        int[] actives = new int[active.length];
        int[] standbys = new int[active.length];
        for (int t = 0; t < tasks.size(); t++) {
            actives[placement.active()[t]]++;
            Arrays.stream(placement.standby()[t]).forEach(c -> standbys[c]++);
            Arrays.stream(placement.warmup()[t]).forEach(c -> standbys[c]++);
        }
        Arrays.setAll(active, c -> new int[actives[c]]);
        Arrays.setAll(standby, c -> new int[standbys[c]]);
        for (int t = tasks.size() - 1; t >= 0; t--) {
            int task = t;
            int owner = placement.active()[t];
            active[owner][--actives[owner]] = t;
            Arrays.stream(placement.standby()[t]).forEach(c -> standby[c][--standbys[c]] = task);
            Arrays.stream(placement.warmup()[t]).forEach(c -> standby[c][--standbys[c]] = task);
        }
        MemberAnswer answer = new MemberAnswer(group.members().size());
        for (int c = 0; c < active.length; c++) {
            deal(group.processes().get(snapshot.clientName(c)), active[c], standby[c], answer);
        }
        return answer;
    }

    private void deal(List<Member> threads, int[] active, int[] standby, MemberAnswer answer) {
        Map<Integer, Integer> hadActive = new HashMap<>();
        Map<Integer, Integer> hadStandby = new HashMap<>();
        for (int k = 0; k < threads.size(); k++) {
            remember(hadActive, lastActive.get(threads.get(k).id()), k);
            remember(hadStandby, lastStandby.get(threads.get(k).id()), k);
        }
        for (int k = 0; k < threads.size(); k++) {
            remember(hadActive, threads.get(k).active(), k);
            remember(hadStandby, threads.get(k).standby(), k);
        }
        Dealer dealer = new Dealer(group.tasks(), threads.size());
        int[] load = new int[threads.size()];
        int[] dealt = dealer.deal(active, look(hadActive, active), look(hadStandby, active), load);
        for (int i = 0; i < active.length; i++) {
            load[dealt[i]]++;
            answer.addActive(memberIndex.get(threads.get(dealt[i]).id()), active[i]);
        }
        dealt = dealer.deal(standby, look(hadStandby, standby), look(hadActive, standby), load);
        for (int i = 0; i < standby.length; i++) {
            answer.addStandby(memberIndex.get(threads.get(dealt[i]).id()), standby[i]);
        }
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
