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
 * The topology as the broker sees it, of 4.3 and of 4.4: subtopologies by name, their tasks numbered from 0 without
 * gaps.
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

    /** Turns tasks into the broker's terms: the numbers of each subtopology. */
    Map<String, Set<Integer>> toNumbers(List<TaskId> some) {
        Map<String, Set<Integer>> numbers = new HashMap<>();
        some.forEach(id ->
                numbers.computeIfAbsent(toName(id), none -> new HashSet<>()).add(number.get(id)));
        return numbers;
    }

    /** Turns offsets by task into the broker's terms. */
    Map<String, Map<Integer, Long>> toNumbers(Map<TaskId, Long> offsets) {
        Map<String, Map<Integer, Long>> numbers = new HashMap<>();
        offsets.forEach((id, offset) ->
                numbers.computeIfAbsent(toName(id), none -> new HashMap<>()).put(number.get(id), offset));
        return numbers;
    }

    /** Turns the broker's terms back into tasks. */
    List<TaskId> toTasks(Map<String, Set<Integer>> numbers) {
        List<TaskId> some = new ArrayList<>();
        numbers.forEach((subtopology, ofIt) ->
                ofIt.forEach(i -> some.add(tasks.get(subtopology).get(i))));
        return some;
    }

    private static String toName(TaskId id) {
        return (id.topologyName() == null ? "" : id.topologyName() + "__") + id.subtopology();
    }
}
