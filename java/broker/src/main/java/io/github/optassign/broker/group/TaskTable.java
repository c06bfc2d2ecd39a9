package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * The tasks of a topology by index, ordered by subtopology, then partition. Subtopologies are ordered by number, since
 * Kafka Streams names them by numbers; other names follow in alphabetical order.
 */
public final class TaskTable {
    private final String[] subtopologies;
    private final boolean[] logged;
    /** Per subtopology the index of its first task, followed by the number of tasks. */
    private final int[] first;

    private final int[] subtopologyOf;
    private final Map<String, Integer> numbers = new HashMap<>();

    public TaskTable(TopologyDescriber topology) {
        List<String> names = topology.subtopologies().stream()
                .distinct()
                .sorted(Comparator.comparingLong(TaskTable::number).thenComparing(Comparator.naturalOrder()))
                .toList();
        subtopologies = names.toArray(new String[0]);
        logged = new boolean[subtopologies.length];
        first = new int[subtopologies.length + 1];
        for (int g = 0; g < subtopologies.length; g++) {
            numbers.put(subtopologies[g], g);
            logged[g] = topology.isStateful(subtopologies[g]);
            first[g + 1] = first[g] + countPartitions(topology, subtopologies[g]);
        }
        subtopologyOf = new int[size()];
        for (int g = 0; g < subtopologies.length; g++) {
            Arrays.fill(subtopologyOf, first[g], first[g + 1], g);
        }
    }

    private static long number(String name) {
        boolean isNumber = !name.isEmpty() && name.length() < 10 && name.chars().allMatch(c -> c >= '0' && c <= '9');
        return isNumber ? Long.parseLong(name) : Long.MAX_VALUE;
    }

    /** Returns the number of partitions, or 0 if Kafka does not know it, since source topics may have been deleted. */
    private static int countPartitions(TopologyDescriber topology, String subtopology) {
        try {
            return Math.max(0, topology.maxNumInputPartitions(subtopology));
        } catch (NoSuchElementException e) {
            return 0;
        }
    }

    public int size() {
        return first[subtopologies.length];
    }

    /** Returns the index of a task, or -1 if the topology does not have it. */
    public int index(String subtopology, int partition) {
        Integer g = numbers.get(subtopology);
        return g == null || partition < 0 || partition >= first[g + 1] - first[g] ? -1 : first[g] + partition;
    }

    public String subtopology(int t) {
        return subtopologies[subtopologyOf[t]];
    }

    /** Returns the number of the task's subtopology, counted from 0. */
    public int subtopologyNumber(int t) {
        return subtopologyOf[t];
    }

    public int subtopologyCount() {
        return subtopologies.length;
    }

    public int partition(int t) {
        return t - first[subtopologyOf[t]];
    }

    /** Returns whether the task has a changelog, and so lags and standbys. */
    public boolean isLogged(int t) {
        return logged[subtopologyOf[t]];
    }

    public String describe(int t) {
        return subtopology(t) + "_" + partition(t);
    }

    /** Describes the whole topology, so that equal texts mean equal topologies. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int g = 0; g < subtopologies.length; g++) {
            text.append(subtopologies[g])
                    .append(logged[g] ? "*" : "x")
                    .append(first[g + 1] - first[g])
                    .append(' ');
        }
        return text.toString();
    }
}
