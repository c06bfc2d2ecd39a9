package io.github.optassign.baselines;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.ProcessId;

/**
 * A snapshot in Kafka's terms: task ids, process ids and configs in Kafka's types, and a lag of every logged task on
 * every client.
 *
 * <p>Previous tasks and lags of unknown tasks are ignored, as are lags of tasks without a changelog.
 */
public final class BaselineApplication {
    /**
     * The form of task ids. It is matched from the right, since names of topologies may contain underscores;
     * TaskId.parse splits at the first double underscore.
     */
    private static final Pattern TASK_ID = Pattern.compile("(?:(.+)__)?(\\d{1,10})_(\\d{1,10})");

    /** The order by code points, in which optassign sorts. Java's own order of strings is by UTF-16 units. */
    private static final Comparator<String> BY_CODE_POINTS =
            (a, b) -> Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));

    private final AssignmentConfigs configs;
    private final SortedMap<TaskId, SnapshotJson.Task> tasks = new TreeMap<>();
    private final Map<String, TaskId> ids = new HashMap<>();
    private final SortedMap<ProcessId, SnapshotJson.Client> clients = new TreeMap<>();
    private final SortedMap<TaskId, Long> changelogs = new TreeMap<>();
    private final int unknownLags;

    BaselineApplication(SnapshotJson snapshot) {
        configs = toKafka(snapshot.configs());
        for (SnapshotJson.Task task : snapshot.tasks()) {
            TaskId id = parseTaskId(task.id());
            ids.put(task.id(), id);
            tasks.put(id, task);
        }
        chooseProcessIds(snapshot.clients()).forEach(clients::put);
        tasks.forEach((id, task) -> {
            if (task.logged()) {
                changelogs.put(id, measureChangelog(task, snapshot));
            }
        });
        unknownLags = (int) clients.values().stream()
                .flatMap(client -> client.lags().entrySet().stream())
                .filter(lag -> lag.getValue() == -3
                        && ids.containsKey(lag.getKey())
                        && changelogs.containsKey(ids.get(lag.getKey())))
                .count();
    }

    /** Returns the configs, with Kafka's defaults. */
    public AssignmentConfigs configs() {
        return configs;
    }

    /** Returns all tasks, in Kafka's order. */
    public SortedMap<TaskId, SnapshotJson.Task> tasks() {
        return Collections.unmodifiableSortedMap(tasks);
    }

    /** Returns the tasks with a changelog, which StreamsPartitionAssignor calls stateful. */
    public SortedSet<TaskId> logged() {
        return Collections.unmodifiableSortedSet(new TreeSet<>(changelogs.keySet()));
    }

    /** Returns all clients, in Kafka's order. */
    public SortedMap<ProcessId, SnapshotJson.Client> clients() {
        return Collections.unmodifiableSortedMap(clients);
    }

    /** Returns the length of a logged task's changelog, offsets. */
    public long changelog(TaskId task) {
        return changelogs.get(task);
    }

    /** Returns the number of lags of logged tasks that are unknown (-3). */
    int unknownLags() {
        return unknownLags;
    }

    /**
     * Returns the lag of every logged task on a client, offsets. As in Kafka, a missing lag is the whole changelog. The
     * map is a TreeMap, as in Kafka's ClientState, so look-ups take as long as in Kafka.
     */
    SortedMap<TaskId, Long> lags(SnapshotJson.Client client) {
        TreeMap<TaskId, Long> lags = new TreeMap<>(changelogs);
        client.lags().forEach((task, lag) -> {
            TaskId id = ids.get(task);
            if (id != null) {
                lags.computeIfPresent(id, (same, full) -> lag);
            }
        });
        return lags;
    }

    /** Returns the ids of the listed tasks that the snapshot contains. */
    public SortedSet<TaskId> selectExisting(Collection<String> listed) {
        SortedSet<TaskId> found = new TreeSet<>();
        for (String task : listed) {
            TaskId id = ids.get(task);
            if (id != null) {
                found.add(id);
            }
        }
        return found;
    }

    private static AssignmentConfigs toKafka(SnapshotJson.Configs given) {
        return new AssignmentConfigs(
                given.acceptableRecoveryLag(),
                given.maxWarmupReplicas(),
                given.numStandbyReplicas(),
                given.probingRebalanceIntervalMs(),
                given.rackAwareAssignmentTags(),
                toOptional(given.rackAwareTrafficCost()),
                toOptional(given.rackAwareNonOverlapCost()),
                given.rackAwareAssignmentStrategy());
    }

    private static OptionalInt toOptional(Integer value) {
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    private static TaskId parseTaskId(String text) {
        Matcher parts = TASK_ID.matcher(text);
        if (!parts.matches()) {
            throw new IllegalArgumentException("tasks[].id: found " + text
                    + "; allowed: <subtopology>_<partition> or <name>__<subtopology>_<partition>");
        }
        return new TaskId(Integer.parseInt(parts.group(2)), Integer.parseInt(parts.group(3)), parts.group(1));
    }

    /** Returns the clients by process id. UUIDs are generated in the order of ids unless all ids are distinct UUIDs. */
    private static Map<ProcessId, SnapshotJson.Client> chooseProcessIds(List<SnapshotJson.Client> given) {
        List<SnapshotJson.Client> sorted = given.stream()
                .sorted(Comparator.comparing(SnapshotJson.Client::processId, BY_CODE_POINTS))
                .toList();
        boolean areUuids = sorted.stream().allMatch(client -> isUuid(client.processId()))
                && sorted.stream()
                                .map(client -> UUID.fromString(client.processId()))
                                .distinct()
                                .count()
                        == sorted.size();
        Map<ProcessId, SnapshotJson.Client> clients = new LinkedHashMap<>();
        for (int i = 0; i < sorted.size(); i++) {
            UUID uuid = areUuids ? UUID.fromString(sorted.get(i).processId()) : new UUID(0, i);
            clients.put(new ProcessId(uuid), sorted.get(i));
        }
        return clients;
    }

    /**
     * Returns whether a text is a UUID with all digits, as Kafka writes it. UUID.fromString accepts shorter texts too.
     */
    private static boolean isUuid(String text) {
        try {
            return UUID.fromString(text).toString().equalsIgnoreCase(text);
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Returns the end offset or, if missing, 1 + the maximum of the task's lags and the acceptable lag. */
    private static long measureChangelog(SnapshotJson.Task task, SnapshotJson snapshot) {
        if (task.changelogEndOffset() != null) {
            return task.changelogEndOffset();
        }
        long greatest = snapshot.configs().acceptableRecoveryLag();
        for (SnapshotJson.Client client : snapshot.clients()) {
            greatest = Math.max(greatest, client.lags().getOrDefault(task.id(), 0L));
        }
        return greatest == Long.MAX_VALUE ? greatest : greatest + 1;
    }
}
