package io.github.optassign.watch.kafka;

import io.github.optassign.model.Traits;
import io.github.optassign.watch.deciding.Copy;
import io.github.optassign.watch.deciding.GroupView;
import io.github.optassign.watch.deciding.RestoringActive;
import io.github.optassign.watch.deciding.TaskId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription.TaskOffset;
import org.apache.kafka.clients.admin.StreamsGroupSubtopologyDescription;

/** Conversion of the coordinator's description of a group into a {@link GroupView}. */
public final class GroupReader {
    /** Kafka Streams' value for the offset of a running task. */
    private static final long LATEST = -2;

    /** Kafka Streams' value for an end offset that it has not requested yet. */
    private static final long NOT_KNOWN_YET = Long.MAX_VALUE;

    private GroupReader() {}

    /**
     * Reads a group.
     *
     * @param partitions the number of partitions of each known topic
     * @param standbys the configured number of standbys of each task with a changelog
     * @param isConfigChanged whether the group's config has the mark of a trigger
     */
    public static GroupView read(
            StreamsGroupDescription group, Map<String, Integer> partitions, int standbys, boolean isConfigChanged) {
        Map<TaskId, List<String>> active = new TreeMap<>();
        Map<TaskId, Set<String>> standby = new TreeMap<>();
        Map<String, Long> units = new TreeMap<>();
        Map<String, Set<String>> members = new TreeMap<>();
        List<Object> progress = new ArrayList<>();
        for (StreamsGroupMemberDescription member : group.members()) {
            units.merge(member.processId(), toUnits(member.clientTags()), Long::sum);
            members.computeIfAbsent(member.processId(), none -> new TreeSet<>()).add(member.memberId());
            forEach(
                    member.targetAssignment().activeTasks(),
                    task -> active.computeIfAbsent(task, none -> new ArrayList<>())
                            .add(member.processId()));
            forEach(
                    member.targetAssignment().standbyTasks(),
                    task -> standby.computeIfAbsent(task, none -> new TreeSet<>())
                            .add(member.processId()));
            progress.add(Map.of(
                    "member", member.memberId(),
                    "epoch", member.memberEpoch(),
                    "active", toSet(member.assignment().activeTasks()),
                    "standby", toSet(member.assignment().standbyTasks())));
        }
        Map<TaskId, Boolean> tasks = listTasks(group, partitions, active.keySet(), standby.keySet());
        return new GroupView(
                toPhase(group),
                group.groupEpoch(),
                units,
                members,
                standbys,
                tasks,
                active,
                standby,
                readLags(group),
                readRestoring(group, tasks),
                new HashSet<>(progress),
                isConfigChanged);
    }

    private static GroupView.Phase toPhase(StreamsGroupDescription group) {
        return switch (group.groupState()) {
            case STABLE -> GroupView.Phase.STABLE;
            case RECONCILING, ASSIGNING -> GroupView.Phase.CHANGING;
            default -> GroupView.Phase.NOT_RUNNING;
        };
    }

    private static long toUnits(Map<String, String> tags) {
        long capacity = Traits.readCapacity(tags);
        return Traits.drains(tags) ? 0 : capacity < 0 ? Traits.UNITS : capacity;
    }

    private interface TaskConsumer {
        void accept(TaskId task);
    }

    private static void forEach(Collection<StreamsGroupMemberAssignment.TaskIds> tasks, TaskConsumer consumer) {
        tasks.forEach(each -> each.partitions().forEach(p -> consumer.accept(new TaskId(each.subtopologyId(), p))));
    }

    private static Set<TaskId> toSet(Collection<StreamsGroupMemberAssignment.TaskIds> tasks) {
        Set<TaskId> all = new HashSet<>();
        forEach(tasks, all::add);
        return all;
    }

    /** Returns all topics that tasks read, which determine the number of tasks. */
    public static Set<String> listTopics(StreamsGroupDescription group) {
        Set<String> topics = new TreeSet<>();
        group.subtopologies().forEach(each -> topics.addAll(sources(each)));
        return topics;
    }

    private static Set<String> sources(StreamsGroupSubtopologyDescription subtopology) {
        Set<String> topics = new TreeSet<>(subtopology.sourceTopics());
        topics.addAll(subtopology.repartitionSourceTopics().keySet());
        return topics;
    }

    /**
     * Returns the tasks, and whether they have a changelog. Tasks of members are included, since topics may be hidden
     * from the watcher.
     */
    private static Map<TaskId, Boolean> listTasks(
            StreamsGroupDescription group, Map<String, Integer> partitions, Set<TaskId> active, Set<TaskId> standby) {
        Map<String, Boolean> logged = new HashMap<>();
        Map<TaskId, Boolean> tasks = new TreeMap<>();
        for (StreamsGroupSubtopologyDescription each : group.subtopologies()) {
            boolean isLogged = !each.stateChangelogTopics().isEmpty();
            logged.put(each.subtopologyId(), isLogged);
            int count = sources(each).stream()
                    .mapToInt(topic -> partitions.getOrDefault(topic, 0))
                    .max()
                    .orElse(0);
            for (int p = 0; p < count; p++) {
                tasks.put(new TaskId(each.subtopologyId(), p), isLogged);
            }
        }
        active.forEach(task -> tasks.putIfAbsent(task, logged.getOrDefault(task.subtopology(), false)));
        standby.forEach(task -> tasks.putIfAbsent(task, logged.getOrDefault(task.subtopology(), false)));
        return tasks;
    }

    /**
     * Reads the lags of standbys, end offset less offset. Like the assignor, it takes both from the standby's member,
     * which reported them at one moment.
     */
    private static Map<Copy, Long> readLags(StreamsGroupDescription group) {
        Map<Copy, Long> lags = new HashMap<>();
        for (StreamsGroupMemberDescription member : group.members()) {
            Map<TaskId, Long> ends = new HashMap<>();
            forEachOffset(member.taskEndOffsets(), (task, end) -> ends.put(task, toEnd(end)));
            Set<TaskId> has = toSet(member.assignment().standbyTasks());
            forEachOffset(member.taskOffsets(), (task, offset) -> {
                long end = ends.getOrDefault(task, -1L);
                if (has.contains(task) && (offset == LATEST || offset >= 0 && end >= 0)) {
                    lags.put(new Copy(task, member.processId()), offset == LATEST ? 0 : Math.max(0, end - offset));
                }
            });
        }
        return lags;
    }

    /** Returns the members' active tasks with a changelog, with the offset that the member itself reports. */
    private static Map<Copy, RestoringActive> readRestoring(StreamsGroupDescription group, Map<TaskId, Boolean> tasks) {
        Map<TaskId, Long> ends = new HashMap<>();
        group.members()
                .forEach(member ->
                        forEachOffset(member.taskEndOffsets(), (task, end) -> ends.merge(task, toEnd(end), Math::max)));
        Map<Copy, RestoringActive> found = new TreeMap<>();
        for (StreamsGroupMemberDescription member : group.members()) {
            Map<TaskId, Long> reported = new HashMap<>();
            forEachOffset(member.taskOffsets(), reported::put);
            forEach(member.assignment().activeTasks(), task -> {
                if (tasks.getOrDefault(task, false)) {
                    long offset = Math.max(-1, reported.getOrDefault(task, -1L));
                    long end = ends.getOrDefault(task, -1L);
                    long lag = offset < 0 || end < 0 ? -1 : Math.max(0, end - offset);
                    found.put(new Copy(task, member.processId()), new RestoringActive(member.memberId(), offset, lag));
                }
            });
        }
        return found;
    }

    private static long toEnd(long reported) {
        return reported == NOT_KNOWN_YET ? -1 : reported;
    }

    private static void forEachOffset(List<TaskOffset> offsets, BiConsumer<TaskId, Long> consumer) {
        Optional.ofNullable(offsets)
                .orElse(List.of())
                .forEach(each -> consumer.accept(new TaskId(each.subtopologyId(), each.partition()), each.offset()));
    }
}
