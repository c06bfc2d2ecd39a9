package io.github.optassign.streams;

import io.github.optassign.model.Traits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A client's statements on itself to the group's leader: only client tags of an instance's configuration reach the
 * others.
 *
 * @param capacityUnits {@code client.tag.optassign.capacity} in millionths: the relative capacity of one thread
 * @param draining {@code client.tag.optassign.drain} or {@code client.tag.optassign.draining}, which is the older name:
 *     it is about to leave, and gives its work away
 * @param remarks tags that say nothing that is allowed, each in words
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
            String told = tags.get(key);
            if (told != null && !"true".equalsIgnoreCase(told) && !"false".equalsIgnoreCase(told)) {
                remarks.add("client.tag." + key + ": found " + told + "; allowed: true, false; taken for false");
            }
        }
        return new ClientTraits(units, Traits.drains(tags), remarks);
    }
}
