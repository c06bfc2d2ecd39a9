package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Traits;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/** The fields of a snapshot's JSON that planners do not use or that depend on the snapshot's source. */
public interface SnapshotDetails {
    /** Writes the fields before the tasks: {@code configs} and {@code options}. */
    void writeConfigs(JsonGenerator json) throws IOException;

    /** Writes the configs that planners use. */
    static void writeConfigNumbers(JsonGenerator json, GroupConfigs configs) throws IOException {
        json.writeNumberField("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        json.writeNumberField("max_warmup_replicas", configs.maxWarmupReplicas());
        json.writeNumberField("num_standby_replicas", configs.numStandbyReplicas());
        json.writeNumberField("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
    }

    /** Writes an array of texts. */
    static void writeTexts(JsonGenerator json, String name, Iterable<String> texts) throws IOException {
        json.writeArrayFieldStart(name);
        for (String text : texts) {
            json.writeString(text);
        }
        json.writeEndArray();
    }

    /** Writes a client's tags, and capacity and draining unless they are the defaults. */
    static void writeTraits(JsonGenerator json, Map<String, String> tags, long capacityUnits, boolean isDraining)
            throws IOException {
        if (!tags.isEmpty()) {
            json.writeObjectFieldStart("tags");
            for (Map.Entry<String, String> tag : new TreeMap<>(tags).entrySet()) {
                json.writeStringField(tag.getKey(), tag.getValue());
            }
            json.writeEndObject();
        }
        if (capacityUnits != Traits.UNITS) {
            json.writeNumberField("capacity", capacityUnits / (double) Traits.UNITS);
        }
        if (isDraining) {
            json.writeBooleanField("draining", true);
        }
    }

    /** Writes more fields of a task. */
    default void writeTask(JsonGenerator json, int t) throws IOException {}

    /** Writes more fields of a client. */
    default void writeClient(JsonGenerator json, int c) throws IOException {}
}
