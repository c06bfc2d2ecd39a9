package io.github.optassign.streams;

import io.github.optassign.learn.ChangelogEnds;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.plan.ClientKinds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskInfo;

/**
 * Kafka's state of an application at one rebalance: the {@link Snapshot} for assignors, and Kafka's objects by its
 * indices.
 */
public final class StreamsGroup {
    private static final Comparator<TaskId> TASK_ORDER = Comparator.comparing(
                    (TaskId task) -> task.topologyName() == null ? "" : task.topologyName())
            .thenComparingInt(TaskId::subtopology)
            .thenComparingInt(TaskId::partition);

    private final AssignmentConfigs configs;
    private final TaskId[] tasks;
    private final TaskInfo[] infos;
    private final ProcessId[] processIds;
    private final KafkaStreamsState[] states;
    private final ClientTraits[] ownTraits;
    private final SortedSet<String> remarks = new TreeSet<>();
    private final Snapshot snapshot;

    /**
     * Reads Kafka's state of the application.
     *
     * @param ends the end offsets of changelogs from earlier rebalances; updated
     * @param looseBalance as in {@link GroupConfigs}
     */
    public static StreamsGroup read(ApplicationState state, ChangelogEnds ends, boolean looseBalance) {
        return new StreamsGroup(state, ends, looseBalance);
    }

    private StreamsGroup(ApplicationState state, ChangelogEnds ends, boolean looseBalance) {
        configs = state.assignmentConfigs();
        Map<TaskId, TaskInfo> infoById = state.allTasks();
        tasks = infoById.keySet().toArray(new TaskId[0]);
        Arrays.sort(tasks, TASK_ORDER);
        infos = Arrays.stream(tasks).map(infoById::get).toArray(TaskInfo[]::new);
        Map<ProcessId, KafkaStreamsState> stateById = state.kafkaStreamsStates(true);
        processIds = stateById.keySet().toArray(new ProcessId[0]);
        Arrays.sort(processIds, Comparator.comparing(ProcessId::toString));
        states = Arrays.stream(processIds).map(stateById::get).toArray(KafkaStreamsState[]::new);
        ownTraits = new ClientTraits[states.length];
        snapshot = takeSnapshot(ends, looseBalance);
        remarks.addAll(ClientKinds.describeIgnoredTags(snapshot, listTags()));
    }

    private List<String> listTags() {
        return configs.rackAwareAssignmentTags().stream().distinct().toList();
    }

    private Snapshot takeSnapshot(ChangelogEnds ends, boolean looseBalance) {
        Map<TaskId, Integer> index = new HashMap<>(tasks.length * 2);
        for (int t = 0; t < tasks.length; t++) {
            index.put(tasks[t], t);
        }
        BitSet[] previousActive = new BitSet[states.length];
        BitSet[] previousStandby = new BitSet[states.length];
        BitSet[] listed = new BitSet[states.length];
        String[] clientNames = new String[states.length];
        int[] threads = new int[states.length];
        for (int c = 0; c < states.length; c++) {
            clientNames[c] = processIds[c].toString();
            threads[c] = Math.max(1, states[c].numProcessingThreads());
            previousActive[c] = toIndices(index, states[c].previousActiveTasks());
            previousStandby[c] = toIndices(index, states[c].previousStandbyTasks());
            previousStandby[c].andNot(previousActive[c]);
            listed[c] = (BitSet) previousActive[c].clone();
            listed[c].or(previousStandby[c]);
        }
        LagReader.Lags lags = new LagReader(tasks, states, listed).read();
        boolean[] logged = lags.logged();
        Snapshot.Clients clientArrays =
                new Snapshot.Clients(clientNames, threads, previousActive, previousStandby, lags.lags());
        boolean[] stateful = logged.clone();
        for (int t = 0; t < tasks.length; t++) {
            stateful[t] |= infos[t].isStateful();
        }
        String[] names = Arrays.stream(tasks).map(TaskId::toString).toArray(String[]::new);
        Snapshot.Tasks taskArrays = new Snapshot.Tasks(names, numberSubtopologies(), stateful, logged);
        GroupConfigs groupConfigs = new GroupConfigs(
                configs.acceptableRecoveryLag(),
                configs.maxWarmupReplicas(),
                configs.numStandbyReplicas(),
                configs.probingRebalanceIntervalMs(),
                looseBalance,
                false);
        return new Snapshot(
                groupConfigs, taskArrays, clientArrays, readTraits(), ends.update(taskArrays, clientArrays));
    }

    private Traits readTraits() {
        int count = states.length;
        List<String> keys = listTags();
        List<Map<String, Integer>> values = new ArrayList<>();
        keys.forEach(key -> values.add(new HashMap<>()));
        long[] sizes = new long[count];
        boolean[] draining = new boolean[count];
        int[][] tags = new int[count][keys.size()];
        for (int c = 0; c < count; c++) {
            Map<String, String> clientTags = states[c].clientTags();
            ClientTraits own = ClientTraits.read(clientTags);
            ownTraits[c] = own;
            remarks.addAll(own.remarks());
            sizes[c] = Math.max(1, states[c].numProcessingThreads()) * own.capacityUnits();
            draining[c] = own.draining();
            for (int k = 0; k < keys.size(); k++) {
                String value = clientTags.get(keys.get(k));
                Map<String, Integer> known = values.get(k);
                tags[c][k] = value == null ? -1 : known.computeIfAbsent(value, text -> known.size());
            }
        }
        return new Traits(sizes, draining, tags);
    }

    private int[] numberSubtopologies() {
        int[] numbers = new int[tasks.length];
        for (int t = 1; t < tasks.length; t++) {
            TaskId before = tasks[t - 1];
            boolean isSame = before.subtopology() == tasks[t].subtopology()
                    && Objects.equals(before.topologyName(), tasks[t].topologyName());
            numbers[t] = isSame ? numbers[t - 1] : numbers[t - 1] + 1;
        }
        return numbers;
    }

    private static BitSet toIndices(Map<TaskId, Integer> index, Iterable<TaskId> ids) {
        BitSet found = new BitSet(index.size());
        for (TaskId id : ids) {
            Integer t = index.get(id);
            if (t != null) {
                found.set(t);
            }
        }
        return found;
    }

    public ClientTraits traits(int c) {
        return ownTraits[c];
    }

    /** Returns messages on tags with invalid values and on tags that the planner ignores. */
    public SortedSet<String> remarks() {
        return remarks;
    }

    public Snapshot snapshot() {
        return snapshot;
    }

    public AssignmentConfigs configs() {
        return configs;
    }

    public TaskId task(int t) {
        return tasks[t];
    }

    public TaskInfo info(int t) {
        return infos[t];
    }

    public ProcessId processId(int c) {
        return processIds[c];
    }

    public KafkaStreamsState state(int c) {
        return states[c];
    }
}
