package io.github.optassign.watch.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;

/**
 * The config that a trigger changes: a group's {@code streams.rack.aware.assignment.tags}. A tag is put at the end of
 * the list, or taken away again; each is one assignment. The tag names its author. So a later reader knows which tag to
 * remove, and other writers' changes of the list stay.
 *
 * @param own what the group itself has configured; empty: nothing, the broker's default holds
 * @param byDefault what holds where the group has nothing configured
 */
public record RackTags(Optional<List<String>> own, List<String> byDefault) {
    public static final String CONFIG = "streams.rack.aware.assignment.tags";
    /**
     * A client tag that all instances have with the same value, so that no copy is placed by it
     * (docs/how-to/broker.md).
     */
    public static final String MARK = "optassign";

    /** Reads the config's entry. */
    public static RackTags read(ConfigEntry entry) {
        boolean isOwn = entry.source() == ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG;
        List<String> byDefault = entry.synonyms().stream()
                .filter(each -> each.source() != ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG)
                .findFirst()
                .map(each -> split(each.value()))
                .orElse(isOwn ? List.of() : split(entry.value()));
        return new RackTags(isOwn ? Optional.of(split(entry.value())) : Optional.empty(), byDefault);
    }

    private static List<String> split(String value) {
        return value == null
                ? List.of()
                : Arrays.stream(value.split(","))
                        .map(String::trim)
                        .filter(each -> !each.isEmpty())
                        .toList();
    }

    public boolean isConfigChanged() {
        return own.orElse(List.of()).contains(MARK);
    }

    /** The change that has the group assigned once: the mark is put there, or taken away. */
    public AlterConfigOp toggle() {
        List<String> tags = new ArrayList<>(own.orElse(byDefault));
        if (!tags.remove(MARK)) {
            tags.add(MARK);
            return set(tags);
        }
        tags.removeIf(MARK::equals);
        return tags.equals(byDefault) ? new AlterConfigOp(new ConfigEntry(CONFIG, null), OpType.DELETE) : set(tags);
    }

    private static AlterConfigOp set(List<String> tags) {
        return new AlterConfigOp(new ConfigEntry(CONFIG, String.join(",", tags)), OpType.SET);
    }
}
