package io.github.optassign;

import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskInfo;

/**
 * What one rebalance knows, in arrays: tasks and clients are sorted once, and from here on a task or a client is its
 * index.
 *
 * <p>Tasks sort by (name of the topology, subtopology, partition), clients by the text of their process id, so that
 * nothing behind this class depends on the order of Kafka's hash maps. Lags are offsets.
 */
final class Snapshot {
    /** Lag of an active task that runs here (Kafka's Task.LATEST_OFFSET). */
    static final long RUNNING = -2;
    /** Lag that is not known (Kafka's SubscriptionInfo.UNKNOWN_OFFSET_SUM). */
    static final long UNKNOWN = -3;
    /** No lag: the client says nothing of the task, or the task has no changelog. */
    static final long NONE = Long.MIN_VALUE;

    private static final Comparator<TaskId> TASK_ORDER = Comparator.comparing(
                    (TaskId task) -> task.topologyName() == null ? "" : task.topologyName())
            .thenComparingInt(TaskId::subtopology)
            .thenComparingInt(TaskId::partition);

    private final AssignmentConfigs configs;
    private final TaskId[] tasks;
    private final TaskInfo[] infos;
    private final String[] taskNames;
    private final int[] subtopologies;
    private final boolean[] logged;
    private final Map<String, Integer> taskIndex = new HashMap<>();
    private final ProcessId[] processIds;
    private final KafkaStreamsState[] states;
    private final String[] clientNames;
    private final int[] threads;
    private final Map<String, Integer> clientIndex = new HashMap<>();
    private final BitSet[] previousActive;
    private final BitSet[] previousStandby;
    private final long[][] lags;
    private final long[] endOffsets;
    private boolean unknownLag;

    /**
     * Reads Kafka's state of the application.
     *
     * @param ends end offsets of changelogs seen in earlier rebalances; brought up to date
     */
    static Snapshot of(ApplicationState state, ChangelogEnds ends) {
        return new Snapshot(state, ends);
    }

    private Snapshot(ApplicationState state, ChangelogEnds ends) {
        configs = state.assignmentConfigs();
        Map<TaskId, TaskInfo> all = state.allTasks();
        tasks = all.keySet().toArray(new TaskId[0]);
        Arrays.sort(tasks, TASK_ORDER);
        infos = new TaskInfo[tasks.length];
        taskNames = new String[tasks.length];
        Map<TaskId, Integer> idIndex = new HashMap<>(tasks.length * 2);
        for (int t = 0; t < tasks.length; t++) {
            infos[t] = all.get(tasks[t]);
            taskNames[t] = tasks[t].toString();
            idIndex.put(tasks[t], t);
            taskIndex.put(taskNames[t], t);
        }
        subtopologies = numberSubtopologies(tasks);

        Map<ProcessId, KafkaStreamsState> byId = state.kafkaStreamsStates(true);
        processIds = byId.keySet().toArray(new ProcessId[0]);
        Arrays.sort(processIds, Comparator.comparing(ProcessId::toString));
        int clients = processIds.length;
        states = new KafkaStreamsState[clients];
        clientNames = new String[clients];
        threads = new int[clients];
        previousActive = new BitSet[clients];
        previousStandby = new BitSet[clients];
        lags = new long[clients][tasks.length];
        logged = new boolean[tasks.length];
        for (int c = 0; c < clients; c++) {
            KafkaStreamsState client = byId.get(processIds[c]);
            states[c] = client;
            clientNames[c] = processIds[c].toString();
            clientIndex.put(clientNames[c], c);
            threads[c] = Math.max(1, client.numProcessingThreads());
            previousActive[c] = indices(idIndex, client.previousActiveTasks());
            previousStandby[c] = indices(idIndex, client.previousStandbyTasks());
            previousStandby[c].andNot(previousActive[c]);
            readLags(client, idIndex, lags[c]);
        }
        endOffsets = ends.update(this);
    }

    /** Logged tasks are those Kafka computes lags of (a stateful task without a changelog has none). */
    private void readLags(KafkaStreamsState client, Map<TaskId, Integer> idIndex, long[] row) {
        Arrays.fill(row, NONE);
        for (Map.Entry<TaskId, Long> entry : client.statefulTasksToLagSums().entrySet()) {
            Integer t = idIndex.get(entry.getKey());
            if (t == null) {
                continue;
            }
            long lag = entry.getValue();
            row[t] = lag >= 0 || lag == RUNNING ? lag : UNKNOWN;
            logged[t] = true;
            unknownLag |= row[t] == UNKNOWN;
        }
    }

    private static int[] numberSubtopologies(TaskId[] sorted) {
        int[] numbers = new int[sorted.length];
        for (int t = 1; t < sorted.length; t++) {
            TaskId before = sorted[t - 1];
            boolean same = before.subtopology() == sorted[t].subtopology()
                    && Objects.equals(before.topologyName(), sorted[t].topologyName());
            numbers[t] = same ? numbers[t - 1] : numbers[t - 1] + 1;
        }
        return numbers;
    }

    private static BitSet indices(Map<TaskId, Integer> index, Iterable<TaskId> ids) {
        BitSet found = new BitSet(index.size());
        for (TaskId id : ids) {
            Integer t = index.get(id);
            if (t != null) {
                found.set(t);
            }
        }
        return found;
    }

    AssignmentConfigs configs() {
        return configs;
    }

    int taskCount() {
        return tasks.length;
    }

    int clientCount() {
        return processIds.length;
    }

    TaskId task(int t) {
        return tasks[t];
    }

    TaskInfo info(int t) {
        return infos[t];
    }

    String taskName(int t) {
        return taskNames[t];
    }

    /** Index of a task by the text of its id; null if there is none. */
    Integer taskIndex(String name) {
        return taskIndex.get(name);
    }

    boolean stateful(int t) {
        return logged[t] || infos[t].isStateful();
    }

    /** Whether the task has a changelog, and so lags, standbys and warm-ups. */
    boolean logged(int t) {
        return logged[t];
    }

    /** Number of the task's subtopology, counted from 0 in the order of tasks. */
    int subtopology(int t) {
        return subtopologies[t];
    }

    int subtopologyCount() {
        return tasks.length == 0 ? 0 : subtopologies[tasks.length - 1] + 1;
    }

    ProcessId processId(int c) {
        return processIds[c];
    }

    KafkaStreamsState state(int c) {
        return states[c];
    }

    String clientName(int c) {
        return clientNames[c];
    }

    List<String> clientNames() {
        return List.of(clientNames);
    }

    /** Index of a client by the text of its process id; null if there is none. */
    Integer clientIndex(String name) {
        return clientIndex.get(name);
    }

    int threads(int c) {
        return threads[c];
    }

    int[] threads() {
        return threads.clone();
    }

    boolean previousActive(int c, int t) {
        return previousActive[c].get(t);
    }

    BitSet previousActive(int c) {
        return previousActive[c];
    }

    BitSet previousStandby(int c) {
        return previousStandby[c];
    }

    /** Whether the client lists the task among its previous ones, so that there is some state of it on its disk. */
    boolean holder(int c, int t) {
        return previousActive[c].get(t) || previousStandby[c].get(t);
    }

    /** {@link #RUNNING}, {@link #UNKNOWN}, {@link #NONE}, or offsets left to replay. */
    long lag(int c, int t) {
        return lags[c][t];
    }

    /** Offsets in the task's changelogs as last seen; -1 where not known. */
    long endOffset(int t) {
        return endOffsets[t];
    }

    /** Whether any client's lag of any task is not known. */
    boolean unknownLag() {
        return unknownLag;
    }

    /** Standbys that every logged task must have (R4). */
    int standbysPerTask() {
        return Math.max(0, Math.min(configs.numStandbyReplicas(), clientCount() - 1));
    }
}
