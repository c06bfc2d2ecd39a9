package io.github.optassign.broker.group;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.service.SnapshotDetails;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The coordinator's data on a group in addition to its snapshot.
 *
 * @param tagKeys the keys of tags in which copies should differ
 * @param tags per process its client tags
 */
public record BrokerDetails(Snapshot snapshot, List<String> tagKeys, List<Map<String, String>> tags)
        implements SnapshotDetails {
    @Override
    public void writeConfigs(JsonGenerator json) throws IOException {
        GroupConfigs configs = snapshot.configs();
        json.writeObjectFieldStart("configs");
        json.writeNumberField("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        json.writeNumberField("max_warmup_replicas", configs.maxWarmupReplicas());
        json.writeNumberField("num_standby_replicas", configs.numStandbyReplicas());
        json.writeNumberField("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
        json.writeArrayFieldStart("rack_aware_assignment_tags");
        for (String key : tagKeys) {
            json.writeString(key);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    @Override
    public void writeClient(JsonGenerator json, int c) throws IOException {
        if (!tags.get(c).isEmpty()) {
            json.writeObjectFieldStart("tags");
            for (Map.Entry<String, String> tag : new TreeMap<>(tags.get(c)).entrySet()) {
                json.writeStringField(tag.getKey(), tag.getValue());
            }
            json.writeEndObject();
        }
        long perThread = snapshot.size(c) / snapshot.threads(c);
        if (perThread != Traits.UNITS) {
            json.writeNumberField("capacity", perThread / (double) Traits.UNITS);
        }
        if (snapshot.isDraining(c)) {
            json.writeBooleanField("draining", true);
        }
    }
}
