package io.github.optassign.watch.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;

/**
 * The config that a trigger changes: a group's {@code streams.rack.aware.assignment.tags}. The watcher appends a tag to
 * the list, or removes it; each change triggers an assignment. The tag marks the watcher's change, which can be undone
 * later without undoing other changes of the list.
 *
 * @param own the group's own value, or empty if the broker's default applies
 * @param defaults the value that applies if the group has no value of its own
 */
public record RackTags(Optional<List<String>> own, List<String> defaults) {
    public static final String CONFIG = "streams.rack.aware.assignment.tags";
    /**
     * The tag of the watcher. All instances have it with the same value, so it does not affect placement
     * (docs/how-to/broker.md).
     */
    public static final String MARK = "optassign";

    /** Reads the config's entry. */
    public static RackTags read(ConfigEntry entry) {
        boolean isOwn = entry.source() == ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG;
        List<String> defaults = entry.synonyms().stream()
                .filter(each -> each.source() != ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG)
                .findFirst()
                .map(each -> split(each.value()))
                .orElse(isOwn ? List.of() : split(entry.value()));
        return new RackTags(isOwn ? Optional.of(split(entry.value())) : Optional.empty(), defaults);
    }

    private static List<String> split(String value) {
        return value == null
                ? List.of()
                : Arrays.stream(value.split(","))
                        .map(String::trim)
                        .filter(each -> !each.isEmpty())
                        .toList();
    }

    /** Returns whether the group's own value has the mark. */
    public boolean isConfigChanged() {
        return own.orElse(List.of()).contains(MARK);
    }

    /** Returns the change that adds or removes the mark, and so triggers an assignment. */
    public AlterConfigOp toggle() {
        List<String> tags = new ArrayList<>(own.orElse(defaults));
        if (!tags.remove(MARK)) {
            tags.add(MARK);
            return set(tags);
        }
        tags.removeIf(MARK::equals);
        return tags.equals(defaults) ? new AlterConfigOp(new ConfigEntry(CONFIG, null), OpType.DELETE) : set(tags);
    }

    private static AlterConfigOp set(List<String> tags) {
        return new AlterConfigOp(new ConfigEntry(CONFIG, String.join(",", tags)), OpType.SET);
    }
}
