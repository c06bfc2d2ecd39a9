package io.github.optassign.plan;

import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Groups of clients that differ in nothing but size and state: all drain or none does, and all have the same tags and
 * the same rack.
 *
 * @param of per client its kind, from 0
 * @param clients per kind its clients, sorted
 */
record ClientKinds(int[] of, int[][] clients) {

    /** Groups the clients of a snapshot; racks count only if they matter. */
    static ClientKinds of(Snapshot snapshot, RackTraffic traffic) {
        Map<List<Integer>, Integer> found = new HashMap<>();
        List<List<Integer>> clients = new ArrayList<>();
        int[] kinds = new int[snapshot.clientCount()];
        for (int c = 0; c < kinds.length; c++) {
            List<Integer> traits = new ArrayList<>(List.of(snapshot.isDraining(c) ? 1 : 0));
            traits.add(traffic.matters() ? traffic.racks()[c] : 0);
            for (int k = 0; k < snapshot.tagCount(); k++) {
                traits.add(snapshot.tag(c, k));
            }
            kinds[c] = found.computeIfAbsent(traits, absent -> found.size());
            if (kinds[c] == clients.size()) {
                clients.add(new ArrayList<>());
            }
            clients.get(kinds[c]).add(c);
        }
        int[][] members = clients.stream()
                .map(list -> list.stream().mapToInt(c -> c).toArray())
                .toArray(int[][]::new);
        return new ClientKinds(kinds, members);
    }

    int count() {
        return clients.length;
    }
}
