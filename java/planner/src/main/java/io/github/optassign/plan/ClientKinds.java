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
 * A partition of the clients into kinds. The clients of a kind either all drain or all do not, and have the same values
 * of tags and the same rack; they may differ in size and state.
 *
 * <p>A network has an arc for each task and kind. If there are more than {@link GreedyPolicy#MOST_KINDS} kinds, tags
 * are ignored, those with the most values first: two copies of a task nearly always have different values of such a
 * tag. If that does not suffice, racks are ignored too.
 *
 * @param ofClient the kind of each client, from 0
 * @param clients the clients of each kind, sorted
 * @param tags the tags that are not ignored, sorted
 */
public record ClientKinds(int[] ofClient, int[][] clients, List<Integer> tags) {

    /** Returns the kinds of a snapshot's clients; racks distinguish kinds only if traffic across racks has a cost. */
    static ClientKinds of(Snapshot snapshot, RackTraffic traffic) {
        List<Integer> tags =
                IntStream.range(0, snapshot.tagCount()).boxed().collect(Collectors.toCollection(ArrayList::new));
        ClientKinds kinds = group(snapshot, traffic, tags);
        while (kinds.kindCount() > GreedyPolicy.MOST_KINDS && !tags.isEmpty()) {
            tags.remove(Collections.max(tags, Comparator.comparingLong(k -> countValues(snapshot, k))));
            kinds = group(snapshot, traffic, tags);
        }
        return kinds.kindCount() > GreedyPolicy.MOST_KINDS ? group(snapshot, RackTraffic.NONE, tags) : kinds;
    }

    /** Returns a message for each tag that is ignored, given the names of the snapshot's tags. */
    public static List<String> describeIgnoredTags(Snapshot snapshot, List<String> names) {
        List<Integer> tags = of(snapshot, RackTraffic.NONE).tags;
        return IntStream.range(0, snapshot.tagCount())
                .filter(k -> !tags.contains(k))
                .mapToObj(k -> "rack.aware.assignment.tags: the planner in the jar does not spread copies over "
                        + names.get(k) + ", since instances have more than " + GreedyPolicy.MOST_KINDS
                        + " combinations of values")
                .toList();
    }

    /** Returns the number of distinct values of a tag, and one more if a client lacks the tag. */
    private static long countValues(Snapshot snapshot, int tag) {
        return IntStream.range(0, snapshot.clientCount())
                .map(c -> snapshot.tag(c, tag))
                .distinct()
                .count();
    }

    /** Returns the kinds by draining, by rack if {@code traffic} matters, and by the values of {@code tags}. */
    private static ClientKinds group(Snapshot snapshot, RackTraffic traffic, List<Integer> tags) {
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
        int[] ofClient = new int[snapshot.clientCount()];
        for (int kind = 0; kind < clients.length; kind++) {
            for (int c : clients[kind]) {
                ofClient[c] = kind;
            }
        }
        return new ClientKinds(ofClient, clients, List.copyOf(tags));
    }

    int kindCount() {
        return clients.length;
    }
}
