package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.TaskTable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The distribution of a process's copies to its threads. Numbers per thread differ by at most one, and copies stay on
 * their threads if possible. A change of threads interrupts a task as long as a change of processes, so copies do not
 * move to spread subtopologies. A new copy goes to the thread with the fewest of its subtopology.
 */
public final class Dealer {
    private final TaskTable tasks;
    private final int members;

    public Dealer(TaskTable tasks, int members) {
        this.tasks = tasks;
        this.members = members;
    }

    /**
     * Distributes copies evenly: numbers per thread differ by at most one.
     *
     * @param copies the tasks of the copies
     * @param before per copy the thread that has the task in this role, or -1
     * @param near per copy the thread that has the task in another role, or -1
     * @param load per thread its other work, a tie-breaker for the copies that remain after an even division
     * @return per copy its thread
     */
    public int[] deal(int[] copies, int[] before, int[] near, int[] load) {
        return dealWithin(computeQuotas(copies.length, before, load), copies, before, near);
    }

    /**
     * Distributes copies within quotas. A copy without a previous thread goes to the thread with the fewest of its
     * subtopology, then with the most room.
     *
     * @param quota per thread its maximum number of copies; the sum is at least the number of copies
     * @param before per copy the thread that has the task in this role, or -1
     * @param near per copy the thread that has the task in another role, or -1
     * @return per copy its thread
     */
    public int[] dealWithin(int[] quota, int[] copies, int[] before, int[] near) {
        int[] dealt = new int[copies.length];
        int[] count = new int[members];
        int[][] ofSubtopology = new int[members][tasks.subtopologyCount()];
        Arrays.fill(dealt, -1);
        for (List<Integer> round : List.of(listKept(copies, before, quota), listIndices(copies))) {
            for (int i : round) {
                int wanted = before[i] >= 0 ? before[i] : near[i];
                if (dealt[i] >= 0 || wanted < 0 || count[wanted] >= quota[wanted]) {
                    continue;
                }
                assign(dealt, i, wanted, count, ofSubtopology, copies[i]);
            }
        }
        for (int i = 0; i < copies.length; i++) {
            if (dealt[i] < 0) {
                assign(
                        dealt,
                        i,
                        findReceiver(tasks.subtopologyNumber(copies[i]), quota, count, ofSubtopology),
                        count,
                        ofSubtopology,
                        copies[i]);
            }
        }
        return dealt;
    }

    private void assign(int[] dealt, int i, int m, int[] count, int[][] ofSubtopology, int t) {
        dealt[i] = m;
        count[m]++;
        ofSubtopology[m][tasks.subtopologyNumber(t)]++;
    }

    private static List<Integer> listIndices(int[] copies) {
        return IntStream.range(0, copies.length).boxed().toList();
    }

    /**
     * Returns the copies with a previous thread, in the order in which threads keep them. A thread with too many keeps
     * copies of each subtopology in turn, so that it gives up copies of its largest subtopologies.
     */
    private List<Integer> listKept(int[] copies, int[] before, int[] quota) {
        int[] turn = new int[copies.length];
        int[][] keptBefore = new int[members][tasks.subtopologyCount()];
        for (int i = 0; i < copies.length; i++) {
            turn[i] = before[i] < 0 ? Integer.MAX_VALUE : keptBefore[before[i]][tasks.subtopologyNumber(copies[i])]++;
        }
        return IntStream.range(0, copies.length)
                .filter(i -> before[i] >= 0)
                .boxed()
                .sorted((a, b) -> Integer.compare(turn[a], turn[b]))
                .toList();
    }

    /**
     * Returns each thread's quota: an even share, rounded up first for the threads with the most previous copies, then
     * with the least other work.
     */
    private int[] computeQuotas(int copies, int[] before, int[] load) {
        int[] previousCount = new int[members];
        for (int m : before) {
            if (m >= 0) {
                previousCount[m]++;
            }
        }
        int[] quota = new int[members];
        Arrays.fill(quota, copies / members);
        IntStream.range(0, members)
                .boxed()
                .sorted((a, b) -> previousCount[a] != previousCount[b]
                        ? previousCount[b] - previousCount[a]
                        : load[a] != load[b] ? load[a] - load[b] : a - b)
                .limit(copies % members)
                .forEach(m -> quota[m]++);
        return quota;
    }

    private int findReceiver(int g, int[] quota, int[] count, int[][] ofSubtopology) {
        int best = -1;
        for (int m = 0; m < members; m++) {
            if (count[m] >= quota[m]) {
                continue;
            }
            if (best < 0
                    || ofSubtopology[m][g] < ofSubtopology[best][g]
                    || (ofSubtopology[m][g] == ofSubtopology[best][g]
                            && quota[m] - count[m] > quota[best] - count[best])) {
                best = m;
            }
        }
        return best;
    }
}
