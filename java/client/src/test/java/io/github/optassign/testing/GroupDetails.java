package io.github.optassign.testing;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.service.SnapshotDetails;
import io.github.optassign.service.SnapshotWriter;
import java.io.IOException;
import java.time.Instant;

/** The data of a group that a service needs in addition to planners: its configuration and draining clients. */
public record GroupDetails(TestGroup group, Snapshot snapshot) implements SnapshotDetails {
    /** Returns the group's snapshot as JSON for a service. */
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
                json.writeBooleanField(
                        "draining",
                        Traits.drains(client.tags)); // if all clients drain, the snapshot has no draining client
            }
        }
    }
}
