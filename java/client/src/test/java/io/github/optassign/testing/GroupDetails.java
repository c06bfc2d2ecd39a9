package io.github.optassign.testing;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.service.SnapshotDetails;
import io.github.optassign.service.SnapshotWriter;
import java.io.IOException;
import java.time.Instant;

/** What a service has to be told of a group beside what planners know: its configuration, and who drains. */
public record GroupDetails(TestGroup group, Snapshot snapshot) implements SnapshotDetails {
    /** The group as it is sent to a service. */
    public static byte[] toJson(TestGroup group, Instant at, String remembered) throws IOException {
        Snapshot snapshot = group.snapshot();
        return SnapshotWriter.write(snapshot, new GroupDetails(group, snapshot), "cases", at, remembered);
    }

    @Override
    public void writeConfigs(JsonGenerator json) throws IOException {
        GroupConfigs configs = snapshot.configs();
        json.writeObjectFieldStart("configs");
        json.writeNumberField("acceptable_recovery_lag", configs.acceptableRecoveryLag());
        json.writeNumberField("max_warmup_replicas", configs.maxWarmupReplicas());
        json.writeNumberField("num_standby_replicas", configs.numStandbyReplicas());
        json.writeNumberField("probing_rebalance_interval_ms", configs.probingRebalanceIntervalMs());
        json.writeEndObject();
    }

    @Override
    public void writeClient(JsonGenerator json, int c) throws IOException {
        for (TestGroup.Client client : group.clients) {
            if (client.name().equals(snapshot.clientName(c))) {
                json.writeBooleanField("draining", Traits.drains(client.tags)); // where all drain a snapshot has none
            }
        }
    }
}
