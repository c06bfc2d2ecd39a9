package io.github.optassign.testing;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Traits;
import io.github.optassign.service.SnapshotDetails;
import io.github.optassign.service.SnapshotWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** The data of a group for a service in addition to its snapshot: configuration and draining clients. */
public record GroupDetails(TestGroup group, Snapshot snapshot) implements SnapshotDetails {
    /** Returns the group's snapshot as JSON for a service. */
    public static String toJson(TestGroup group, Instant at, String remembered) throws IOException {
        Snapshot snapshot = group.snapshot();
        byte[] json = SnapshotWriter.write(snapshot, new GroupDetails(group, snapshot), "cases", at, remembered);
        return new String(json, StandardCharsets.UTF_8);
    }

    @Override
    public void writeConfigs(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("configs");
        SnapshotDetails.writeConfigNumbers(json, snapshot.configs());
        json.writeEndObject();
    }

    @Override
    public void writeClient(JsonGenerator json, int c) throws IOException {
        for (TestGroup.Client client : group.clients) {
            if (client.name().equals(snapshot.clientName(c))) {
                // If all clients drain, the snapshot has no draining client.
                json.writeBooleanField("draining", Traits.drains(client.tags));
            }
        }
    }
}
