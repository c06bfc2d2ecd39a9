package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.TaskTable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Deals the copies of one process to its threads: equally many to each, give or take one, and each copy to the thread
 * that has it, if possible. A copy that changes threads stops for as long as one that changes processes, so even
 * subtopologies are no reason to; who is dealt a copy anew is, however, who has the fewest of its subtopology.
 */
public final class Dealer {
    private final TaskTable tasks;
    private final int members;

    public Dealer(TaskTable tasks, int members) {
        this.tasks = tasks;
        this.members = members;
    }

    /**
     * Deals copies, as many to each thread, give or take one.
     *
     * @param copies the tasks
     * @param before per copy the thread that has the task in this role; -1: none
     * @param near per copy the thread that has it in another role; -1: none
     * @param load per thread what it has to do already: who has less gets the odd ones
     * @return per copy its thread
     */
    public int[] deal(int[] copies, int[] before, int[] near, int[] load) {
        return dealWithin(shareOut(copies.length, before, load), copies, before, near);
    }

    /**
     * Deals copies, to each thread no more than its quota; the thread with most room gets copies without a thread.
     *
     * @param quota per thread, together no less than there are copies
     * @return per copy its thread
     */
    public int[] dealWithin(int[] quota, int[] copies, int[] before, int[] near) {
        int[] dealt = new int[copies.length];
        int[] count = new int[members];
        int[][] ofSubtopology = new int[members][tasks.subtopologyCount()];
        Arrays.fill(dealt, -1);
        for (List<Integer> round : List.of(toKeep(copies, before, quota), all(copies))) {
            for (int i : round) {
                int wanted = before[i] >= 0 ? before[i] : near[i];
                if (dealt[i] >= 0 || wanted < 0 || count[wanted] >= quota[wanted]) {
                    continue;
                }
                take(dealt, i, wanted, count, ofSubtopology, copies[i]);
            }
        }
        for (int i = 0; i < copies.length; i++) {
            if (dealt[i] < 0) {
                take(
                        dealt,
                        i,
                        findNeediest(tasks.subtopologyNumber(copies[i]), quota, count, ofSubtopology),
                        count,
                        ofSubtopology,
                        copies[i]);
            }
        }
        return dealt;
    }

    private void take(int[] dealt, int i, int m, int[] count, int[][] ofSubtopology, int t) {
        dealt[i] = m;
        count[m]++;
        ofSubtopology[m][tasks.subtopologyNumber(t)]++;
    }

    private static List<Integer> all(int[] copies) {
        return IntStream.range(0, copies.length).boxed().toList();
    }

    /**
     * The copies that stay, in the order in which threads keep them. A thread that has too many keeps of each
     * subtopology in turn, so that it gives up copies of its largest ones.
     */
    private List<Integer> toKeep(int[] copies, int[] before, int[] quota) {
        int[] turn = new int[copies.length];
        int[][] seen = new int[members][tasks.subtopologyCount()];
        for (int i = 0; i < copies.length; i++) {
            turn[i] = before[i] < 0 ? Integer.MAX_VALUE : seen[before[i]][tasks.subtopologyNumber(copies[i])]++;
        }
        return IntStream.range(0, copies.length)
                .filter(i -> before[i] >= 0)
                .boxed()
                .sorted((a, b) -> Integer.compare(turn[a], turn[b]))
                .toList();
    }

    /** How many copies each thread gets: the odd ones go to who has most of them, then to who has least to do. */
    private int[] shareOut(int copies, int[] before, int[] load) {
        int[] had = new int[members];
        for (int m : before) {
            if (m >= 0) {
                had[m]++;
            }
        }
        int[] quota = new int[members];
        Arrays.fill(quota, copies / members);
        IntStream.range(0, members)
                .boxed()
                .sorted((a, b) -> had[a] != had[b] ? had[b] - had[a] : load[a] != load[b] ? load[a] - load[b] : a - b)
                .limit(copies % members)
                .forEach(m -> quota[m]++);
        return quota;
    }

    private int findNeediest(int g, int[] quota, int[] count, int[][] ofSubtopology) {
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
