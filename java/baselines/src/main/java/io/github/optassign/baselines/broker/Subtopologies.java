package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.BaselineApplication;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.TaskId;

/**
 * The topology in the broker's terms, for 4.3 and 4.4: subtopologies by name, with tasks numbered from 0 without gaps.
 */
final class Subtopologies
        implements org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber,
                org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber {
    private final Map<String, List<TaskId>> tasks = new TreeMap<>();
    private final Map<TaskId, Integer> number = new HashMap<>();
    private final Set<String> logged = new HashSet<>();

    Subtopologies(BaselineApplication application) {
        application.tasks().forEach((id, task) -> {
            List<TaskId> ofSubtopology = tasks.computeIfAbsent(toName(id), none -> new ArrayList<>());
            number.put(id, ofSubtopology.size());
            ofSubtopology.add(id);
            if (task.logged()) {
                logged.add(toName(id));
            }
        });
    }

    @Override
    public List<String> subtopologies() {
        return List.copyOf(tasks.keySet());
    }

    @Override
    public int maxNumInputPartitions(String subtopology) {
        return tasks.get(subtopology).size();
    }

    @Override
    public boolean isStateful(String subtopology) {
        return logged.contains(subtopology);
    }

    /** Converts tasks into the broker's terms: numbers by subtopology. */
    Map<String, Set<Integer>> toNumbers(List<TaskId> converted) {
        Map<String, Set<Integer>> numbers = new HashMap<>();
        converted.forEach(id ->
                numbers.computeIfAbsent(toName(id), none -> new HashSet<>()).add(number.get(id)));
        return numbers;
    }

    /** Converts offsets by task into the broker's terms: offsets by subtopology and number. */
    Map<String, Map<Integer, Long>> toNumbers(Map<TaskId, Long> offsets) {
        Map<String, Map<Integer, Long>> numbers = new HashMap<>();
        offsets.forEach((id, offset) ->
                numbers.computeIfAbsent(toName(id), none -> new HashMap<>()).put(number.get(id), offset));
        return numbers;
    }

    /** Converts the broker's terms back into tasks. */
    List<TaskId> toTasks(Map<String, Set<Integer>> numbers) {
        List<TaskId> converted = new ArrayList<>();
        numbers.forEach((subtopology, partitions) ->
                partitions.forEach(i -> converted.add(tasks.get(subtopology).get(i))));
        return converted;
    }

    private static String toName(TaskId id) {
        return (id.topologyName() == null ? "" : id.topologyName() + "__") + id.subtopology();
    }
}
