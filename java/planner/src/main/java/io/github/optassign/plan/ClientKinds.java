package io.github.optassign.plan;

import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.GreedyPolicy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Groups of clients that differ in nothing but size and state: all drain or none does, and all have the same tags and
 * the same rack.
 *
 * <p>A network has an arc for each task and kind. If there are too many kinds, the tag with the most values does not
 * count: two copies of a task have different values of such a tag nearly always. Racks come last.
 *
 * @param of per client its kind, from 0
 * @param clients per kind its clients, sorted
 * @param tags the tags that count, sorted
 */
public record ClientKinds(int[] of, int[][] clients, List<Integer> tags) {

    /** Groups the clients of a snapshot; racks count only if they matter. */
    static ClientKinds of(Snapshot snapshot, RackTraffic traffic) {
        List<Integer> tags =
                IntStream.range(0, snapshot.tagCount()).boxed().collect(Collectors.toCollection(ArrayList::new));
        ClientKinds kinds = of(snapshot, traffic, tags);
        while (kinds.count() > GreedyPolicy.MOST_KINDS && !tags.isEmpty()) {
            tags.remove(Collections.max(tags, Comparator.comparingLong(k -> countValues(snapshot, k))));
            kinds = of(snapshot, traffic, tags);
        }
        return kinds.count() > GreedyPolicy.MOST_KINDS ? of(snapshot, RackTraffic.NONE, tags) : kinds;
    }

    /** Returns a remark on each tag that does not count, given the names of the snapshot's tags. */
    public static List<String> remark(Snapshot snapshot, List<String> names) {
        List<Integer> tags = of(snapshot, RackTraffic.NONE).tags;
        return IntStream.range(0, snapshot.tagCount())
                .filter(k -> !tags.contains(k))
                .mapToObj(k -> "rack.aware.assignment.tags: the planner in the jar does not spread copies over "
                        + names.get(k) + ", since instances have more than " + GreedyPolicy.MOST_KINDS
                        + " combinations of values")
                .toList();
    }

    private static long countValues(Snapshot snapshot, int tag) {
        return IntStream.range(0, snapshot.clientCount())
                .map(c -> snapshot.tag(c, tag))
                .distinct()
                .count();
    }

    private static ClientKinds of(Snapshot snapshot, RackTraffic traffic, List<Integer> tags) {
        Map<List<Integer>, List<Integer>> found = new LinkedHashMap<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            List<Integer> traits = new ArrayList<>(List.of(snapshot.isDraining(c) ? 1 : 0));
            traits.add(traffic.matters() ? traffic.racks()[c] : 0);
            for (int k : tags) {
                traits.add(snapshot.tag(c, k));
            }
            found.computeIfAbsent(traits, absent -> new ArrayList<>()).add(c);
        }
        int[][] clients = found.values().stream()
                .map(alike -> alike.stream().mapToInt(c -> c).toArray())
                .toArray(int[][]::new);
        int[] kinds = new int[snapshot.clientCount()];
        for (int kind = 0; kind < clients.length; kind++) {
            for (int c : clients[kind]) {
                kinds[c] = kind;
            }
        }
        return new ClientKinds(kinds, clients, List.copyOf(tags));
    }

    int count() {
        return clients.length;
    }
}
