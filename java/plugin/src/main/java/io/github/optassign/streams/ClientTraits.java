package io.github.optassign.streams;

import io.github.optassign.model.Traits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The traits that a client declares to the group's leader. They are client tags, since no other part of an instance's
 * configuration reaches the leader.
 *
 * @param capacityUnits {@code client.tag.optassign.capacity} in millionths: the relative capacity of one thread
 * @param draining {@code client.tag.optassign.drain} or {@code client.tag.optassign.draining}, the older name: the
 *     client is about to leave and gives its tasks away
 * @param remarks messages on tags with invalid values
 */
public record ClientTraits(long capacityUnits, boolean draining, List<String> remarks) {
    static ClientTraits read(Map<String, String> tags) {
        List<String> remarks = new ArrayList<>();
        long units = Traits.readCapacity(tags);
        if (units < 0) {
            units = Traits.UNITS;
            remarks.add("client.tag." + Traits.CAPACITY_TAG + ": found " + tags.get(Traits.CAPACITY_TAG)
                    + "; allowed: a number from 0.000001 to 1000000; taken for 1");
        }
        for (String key : Traits.DRAIN_TAGS) {
            String value = tags.get(key);
            if (value != null && !"true".equalsIgnoreCase(value) && !"false".equalsIgnoreCase(value)) {
                remarks.add("client.tag." + key + ": found " + value + "; allowed: true, false; taken for false");
            }
        }
        return new ClientTraits(units, Traits.drains(tags), remarks);
    }
}
