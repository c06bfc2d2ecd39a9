package io.github.optassign.model;

import io.github.optassign.policy.GreedyPolicy;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The state of a group at the start of one rebalance, in arrays. A task or a client is denoted by its index.
 *
 * <p>Tasks are sorted by topology name, subtopology and partition, and clients by the text of their process id. So no
 * result depends on the order of Kafka's hash maps.
 */
public final class Snapshot {
    /** The lag of an active task that runs on the client (Kafka's Task.LATEST_OFFSET). */
    public static final long RUNNING = -2;

    /** An unknown lag (Kafka's SubscriptionInfo.UNKNOWN_OFFSET_SUM). */
    public static final long UNKNOWN = -3;

    /** No lag: the client reports no state of the task, or the task has no changelog. */
    public static final long NONE = Long.MIN_VALUE;

    /**
     * The tasks, sorted.
     *
     * @param names per task the text of its id
     * @param subtopologies per task the number of its subtopology, counted from 0 in the order of tasks
     * @param stateful per task whether it has a store
     * @param logged per task whether it has a changelog, and so lags, standbys and warm-ups
     */
    public record Tasks(String[] names, int[] subtopologies, boolean[] stateful, boolean[] logged) {}

    /**
     * The clients, sorted.
     *
     * @param names per client the text of its process id
     * @param threads per client the number of its threads, at least 1
     * @param previousActive per client the tasks that it lists as active
     * @param previousStandby per client the other tasks with a directory there
     * @param lags the offsets left to replay, by task and client
     */
    public record Clients(
            String[] names, int[] threads, BitSet[] previousActive, BitSet[] previousStandby, TaskLags lags) {
        /** Returns whether the client lists the task as previously active or standby, so it has state of the task. */
        public boolean isHolder(int t, int c) {
            return previousActive[c].get(t) || previousStandby[c].get(t);
        }
    }

    private final GroupConfigs configs;
    private final Tasks tasks;
    private final Clients clients;
    private final Traits traits;
    private final long[] endOffsets;
    private final Map<String, Integer> taskIndex;
    private final Map<String, Integer> clientIndex;
    private final int[] firstTasks;
    private final Columns columns;
    private final Weights weights;
    /** The ranks, or null before the first call of {@link #ranks}. */
    private Ranks ranks;

    /** Creates a snapshot of these arrays, without copying them; an end offset is -1 if unknown. */
    public Snapshot(GroupConfigs configs, Tasks tasks, Clients clients, Traits traits, long[] endOffsets) {
        this.configs = configs;
        this.tasks = tasks;
        this.clients = clients;
        // If all clients drain, none counts as draining: the tasks must run somewhere.
        boolean isAnyStaying = IntStream.range(0, clients.names.length).anyMatch(c -> !traits.draining()[c]);
        this.traits =
                isAnyStaying ? traits : new Traits(traits.sizes(), new boolean[clients.names.length], traits.tags());
        this.endOffsets = endOffsets;
        taskIndex = indexByName(tasks.names);
        clientIndex = indexByName(clients.names);
        columns = Columns.find(tasks.names.length, clients);
        weights = null;
        firstTasks = new int[subtopologyCount() + 1];
        for (int t = 0; t < taskCount(); t++) {
            firstTasks[subtopology(t) + 1] = t + 1;
        }
    }

    private Snapshot(Snapshot counted, Weights weights) {
        configs = counted.configs;
        tasks = counted.tasks;
        clients = counted.clients;
        traits = counted.traits;
        endOffsets = counted.endOffsets;
        taskIndex = counted.taskIndex;
        clientIndex = counted.clientIndex;
        firstTasks = counted.firstTasks;
        columns = counted.columns;
        ranks = counted.ranks;
        this.weights = weights;
    }

    /** Returns the same snapshot with these weights, or without weights if they are null or all equal. */
    public Snapshot withWeights(Weights given) {
        return new Snapshot(this, given != null && given.differ() ? given : null);
    }

    /** Returns the weights by which load is balanced, or null if the numbers of tasks are balanced. */
    public Weights weights() {
        return weights;
    }

    private static Map<String, Integer> indexByName(String[] names) {
        Map<String, Integer> index = new HashMap<>(names.length * 2);
        for (int i = 0; i < names.length; i++) {
            index.put(names[i], i);
        }
        return index;
    }

    public GroupConfigs configs() {
        return configs;
    }

    public int taskCount() {
        return tasks.names.length;
    }

    /** Returns all tasks, in order. */
    public IntStream tasks() {
        return IntStream.range(0, taskCount());
    }

    public int clientCount() {
        return clients.names.length;
    }

    public String taskName(int t) {
        return tasks.names[t];
    }

    /** Returns the index of the task with this id, or null if the snapshot has no such task. */
    public Integer taskIndex(String name) {
        return taskIndex.get(name);
    }

    public boolean isStateful(int t) {
        return tasks.stateful[t];
    }

    /** Returns whether the task has a changelog, and so lags, standbys and warm-ups. */
    public boolean isLogged(int t) {
        return tasks.logged[t];
    }

    /** Returns the number of the task's subtopology, counted from 0 in the order of tasks. */
    public int subtopology(int t) {
        return tasks.subtopologies[t];
    }

    public int subtopologyCount() {
        return taskCount() == 0 ? 0 : tasks.subtopologies[taskCount() - 1] + 1;
    }

    /** Returns the first task of subtopology g, or the number of tasks if g is the number of subtopologies. */
    public int firstTask(int g) {
        return firstTasks[g];
    }

    /** Returns the tasks of subtopology g, in order. */
    public IntStream tasksOf(int g) {
        return IntStream.range(firstTasks[g], firstTasks[g + 1]);
    }

    public String clientName(int c) {
        return clients.names[c];
    }

    public List<String> clientNames() {
        return List.of(clients.names);
    }

    /** Returns the index of the client with this process id, or null if the snapshot has no such client. */
    public Integer clientIndex(String name) {
        return clientIndex.get(name);
    }

    public int threads(int c) {
        return clients.threads[c];
    }

    /** Returns the size to which the client's share is proportional: threads times capacity in millionths. */
    public long size(int c) {
        return traits.sizes()[c];
    }

    /** Compares clients a and b by their copies per unit of size after one more; draining clients come last. */
    public int compareLoad(long loadOfA, int a, long loadOfB, int b) {
        if (traits.draining()[a] != traits.draining()[b]) {
            return traits.draining()[a] ? 1 : -1;
        }
        double ofA = (loadOfA + 1.0) / traits.sizes()[a];
        double ofB = (loadOfB + 1.0) / traits.sizes()[b];
        return ofA < ofB ? -1 : ofA > ofB ? 1 : 0; // asked for often; neither is NaN
    }

    /** Returns the first client by {@link #compareLoad} of those that may have the copy, or -1 if none may. */
    public int findLeastLoaded(long[] load, IntPredicate mayHave) {
        int best = -1;
        for (int c = 0; c < load.length; c++) {
            boolean isLess = best < 0 || compareLoad(load[c], c, load[best], best) < 0;
            best = isLess && mayHave.test(c) ? c : best;
        }
        return best;
    }

    /** Returns the {@link #size} of each client. Not to be written to. */
    public long[] sizes() {
        return traits.sizes();
    }

    /** Returns whether the client is about to leave and some other client is not. */
    public boolean isDraining(int c) {
        return traits.draining()[c];
    }

    /** Returns {@link #isDraining} of each client. Not to be written to. */
    public boolean[] draining() {
        return traits.draining();
    }

    /** Returns the number of tags in whose values the copies of a task should differ. */
    public int tagCount() {
        return traits.tags().length == 0 ? 0 : traits.tags()[0].length;
    }

    /** Returns the worth of a value of tag k: a tag outweighs the one after it (goal {@code tag_spread}). */
    public long tagWorth(int k) {
        long worth = 1;
        for (int after = Math.min(tagCount() - 1 - k, GreedyPolicy.WEIGHED_TAGS); after > 0; after--) {
            worth *= GreedyPolicy.EARLIER_TAG;
        }
        return worth;
    }

    /**
     * Returns whether tasks have standbys and clients differ in any tag, so that copies can be spread over its values.
     * A tag of one value, such as the watcher's mark, does not count.
     */
    public boolean hasTagsToSpread() {
        return tagsToSpread().length > 0;
    }

    /** Returns the tags in which clients differ if tasks have standbys, otherwise none. */
    public int[] tagsToSpread() {
        return IntStream.range(0, standbysPerTask() > 0 ? tagCount() : 0)
                .filter(k -> IntStream.range(1, clientCount()).anyMatch(c -> tag(c, k) != tag(0, k)))
                .toArray();
    }

    /** Returns the number of client c's value of the configured tag k, or -1 if the client lacks the tag. */
    public int tag(int c, int k) {
        return traits.tags()[c][k];
    }

    /** Returns the client that asks for follow-ups (R8): the first that does not drain. */
    public int followupClient() {
        int c = 0;
        while (traits.draining()[c]) {
            c++;
        }
        return c;
    }

    /** Returns the clients that list the task as active, sorted. Not to be written to. */
    public int[] owners(int t) {
        return columns.owners()[t];
    }

    /** Returns the clients that list the task as previously active or standby, sorted. Not to be written to. */
    public int[] holders(int t) {
        return columns.holders()[t];
    }

    /**
     * Returns the task's columns, sorted: its holders, and the clients whose lag differs from that of the first other
     * client. All clients left are the task's pool, and equally far from its state. Not to be written to.
     */
    public int[] columns(int t) {
        return columns.of()[t];
    }

    /** Returns the sorted union of a task's columns and {@code more}, without negative numbers. Read-only. */
    public int[] columnsAnd(int t, int... more) {
        return union(columns.of()[t], more);
    }

    /** Returns the sorted union of {@code sorted} and {@code more}, without negative numbers. Read-only. */
    public static int[] union(int[] sorted, int... more) {
        int[] all = sorted;
        for (int c : more) {
            int place = c < 0 ? 0 : Arrays.binarySearch(all, c);
            if (place < 0) {
                int[] longer = new int[all.length + 1];
                System.arraycopy(all, 0, longer, 0, -1 - place);
                longer[-1 - place] = c;
                System.arraycopy(all, -1 - place, longer, -place, all.length + 1 + place);
                all = longer;
            }
        }
        return all;
    }

    /** Returns the first {@code count} clients that are not in {@code sorted}, or all if they are fewer. */
    public int[] firstOthers(int[] sorted, int count) {
        int[] others = new int[Math.min(count, clientCount() - sorted.length)];
        int found = 0;
        for (int c = 0, place = 0; found < others.length; c++) {
            if (place < sorted.length && sorted[place] == c) {
                place++;
            } else {
                others[found++] = c;
            }
        }
        return others;
    }

    /** Returns the first client of the task's pool, or -1 if the pool is empty. */
    public int poolClient(int t) {
        return Columns.findOther(columns.of()[t], clientCount());
    }

    /** Returns whether the client lists the task as active. */
    public boolean wasActive(int t, int c) {
        return clients.previousActive[c].get(t);
    }

    /** Returns whether the task would move to this client: it has owners, and the client is not one of them. */
    public boolean isMove(int t, int c) {
        return owners(t).length > 0 && !wasActive(t, c);
    }

    /** Returns whether the client has a directory of the task and does not list it as active. */
    public boolean wasStandby(int t, int c) {
        return clients.previousStandby[c].get(t);
    }

    /** Returns the tasks that the client lists as active. Not to be written to. */
    public BitSet previousActive(int c) {
        return clients.previousActive[c];
    }

    /** Returns the other tasks with a directory on the client. Not to be written to. */
    public BitSet previousStandby(int c) {
        return clients.previousStandby[c];
    }

    /** Returns whether the client lists the task as previously active or standby, so it has state of the task. */
    public boolean isHolder(int t, int c) {
        return clients.isHolder(t, c);
    }

    /** Returns the offsets left to replay, {@link #RUNNING}, {@link #UNKNOWN} or {@link #NONE}. */
    public long lag(int t, int c) {
        return clients.lags.of(t, c);
    }

    /** Returns the number of offsets in the task's changelogs as last seen, or -1 if unknown. */
    public long endOffset(int t) {
        return endOffsets[t];
    }

    /** Returns whether the lag of any task on any client is unknown. */
    public boolean hasUnknownLag() {
        return columns.isAnyLagUnknown();
    }

    /** Returns the number of standbys that each logged task must have (R4). */
    public int standbysPerTask() {
        return Math.max(0, Math.min(configs.numStandbyReplicas(), clientCount() - 1));
    }

    /** Returns the ranks of the clients for each task, computed at the first call. */
    public Ranks ranks() {
        if (ranks == null) {
            ranks = new Ranks(this);
        }
        return ranks;
    }
}
