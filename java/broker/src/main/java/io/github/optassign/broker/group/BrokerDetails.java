package io.github.optassign.broker.group;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.SnapshotDetails;
import java.io.IOException;
import java.util.List;
import java.util.Map;

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
        json.writeObjectFieldStart("configs");
        SnapshotDetails.writeConfigNumbers(json, snapshot.configs());
        SnapshotDetails.writeTexts(json, "rack_aware_assignment_tags", tagKeys);
        json.writeEndObject();
    }

    @Override
    public void writeClient(JsonGenerator json, int c) throws IOException {
        long perThread = snapshot.size(c) / snapshot.threads(c);
        SnapshotDetails.writeTraits(json, tags.get(c), perThread, snapshot.isDraining(c));
    }
}
