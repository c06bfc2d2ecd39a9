package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * The tasks of a topology by index: subtopologies in the order of their numbers, which is what Kafka Streams calls
 * them, others behind them by name, each with its partitions from 0.
 */
public final class TaskTable {
    private final String[] subtopologies;
    private final boolean[] logged;
    /** Per subtopology its first task; behind the last one how many there are. */
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

    /** None where Kafka does not know: the source topics of a subtopology may be gone. */
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

    /** The index of a task; -1: the topology does not have it. */
    public int index(String subtopology, int partition) {
        Integer g = numbers.get(subtopology);
        return g == null || partition < 0 || partition >= first[g + 1] - first[g] ? -1 : first[g] + partition;
    }

    public String subtopology(int t) {
        return subtopologies[subtopologyOf[t]];
    }

    /** Number of the task's subtopology, counted from 0. */
    public int subtopologyNumber(int t) {
        return subtopologyOf[t];
    }

    public int subtopologyCount() {
        return subtopologies.length;
    }

    public int partition(int t) {
        return t - first[subtopologyOf[t]];
    }

    /** Whether the task has a changelog, and so lags and standbys. */
    public boolean isLogged(int t) {
        return logged[subtopologyOf[t]];
    }

    public String describe(int t) {
        return subtopology(t) + "_" + partition(t);
    }

    /** All of it, so that equal texts are equal topologies. */
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
