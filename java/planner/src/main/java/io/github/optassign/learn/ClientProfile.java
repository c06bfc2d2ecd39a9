package io.github.optassign.learn;

import io.github.optassign.model.Snapshot;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * What a plan depends on in a client, other than its state: if it changes, the plan may be replaced.
 *
 * @param size {@link Snapshot#size}
 * @param isDraining whether the client is about to leave
 * @param tags the numbers of its values of the tags over which copies are spread. Clients are numbered in their order,
 *     so that other names of the same zones change nothing
 */
public record ClientProfile(long size, boolean isDraining, List<Integer> tags) {
    /** Written out, since JDK 17 keeps the class loader of a record whose generated equality was called. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ClientProfile that
                && size == that.size
                && isDraining == that.isDraining
                && tags.equals(that.tags);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(size);
    }

    /** Returns the profile of each client by process id. */
    public static Map<String, ClientProfile> listByClient(Snapshot snapshot) {
        int[] spread = snapshot.tagsToSpread();
        Map<String, ClientProfile> profiles = new HashMap<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            int client = c;
            List<Integer> tags =
                    IntStream.of(spread).mapToObj(k -> snapshot.tag(client, k)).toList();
            profiles.put(snapshot.clientName(c), new ClientProfile(snapshot.size(c), snapshot.isDraining(c), tags));
        }
        return profiles;
    }
}
