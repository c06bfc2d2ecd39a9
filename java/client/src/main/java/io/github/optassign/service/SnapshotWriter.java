package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import io.github.optassign.model.Snapshot;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.BitSet;

/**
 * A writer of {@link Snapshot}s as JSON for the service: an ApplicationState of format 1 in UTF-8.
 *
 * <p>Lags are sparse. The lag of clients without state is sent once per task, as {@code changelog_end_offset}.
 */
public final class SnapshotWriter {
    private final Snapshot snapshot;
    private final SnapshotDetails details;
    private final SerializableString[] names;

    private SnapshotWriter(Snapshot snapshot, SnapshotDetails details) {
        this.snapshot = snapshot;
        this.details = details;
        names = new SerializableString[snapshot.taskCount()];
        for (int t = 0; t < names.length; t++) {
            names[t] = new SerializedString(snapshot.taskName(t));
        }
    }

    /**
     * Writes a snapshot.
     *
     * @param details the fields in addition to the planners' data
     * @param remembered the last applied TaskAssignment as JSON, or null if there is none
     * @throws IOException never in practice: the JSON is written to memory
     */
    public static byte[] write(
            Snapshot snapshot, SnapshotDetails details, String application, Instant takenAt, String remembered)
            throws IOException {
        try (ByteArrayBuilder bytes = new ByteArrayBuilder(64 * 1024)) {
            try (JsonGenerator json = Json.FACTORY.createGenerator(bytes)) {
                new SnapshotWriter(snapshot, details).writeAll(json, application, takenAt, remembered);
            }
            return bytes.toByteArray();
        }
    }

    private void writeAll(JsonGenerator json, String application, Instant takenAt, String remembered)
            throws IOException {
        json.writeStartObject();
        json.writeNumberField("format", 1);
        json.writeStringField("application", application);
        json.writeStringField("taken_at", takenAt.truncatedTo(ChronoUnit.MILLIS).toString());
        details.writeConfigs(json);
        json.writeArrayFieldStart("tasks");
        for (int t = 0; t < snapshot.taskCount(); t++) {
            writeTask(json, t);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("clients");
        for (int c = 0; c < snapshot.clientCount(); c++) {
            writeClient(json, c);
        }
        json.writeEndArray();
        if (remembered != null) {
            json.writeFieldName("remembered");
            json.writeRawValue(new SerializedString(remembered));
        }
        json.writeEndObject();
    }

    private void writeTask(JsonGenerator json, int t) throws IOException {
        json.writeStartObject();
        json.writeFieldName("id");
        json.writeString(names[t]);
        json.writeBooleanField("stateful", snapshot.isStateful(t));
        json.writeBooleanField("logged", snapshot.isLogged(t));
        if (snapshot.endOffset(t) >= 0) {
            json.writeNumberField("changelog_end_offset", snapshot.endOffset(t));
        }
        details.writeTask(json, t);
        json.writeEndObject();
    }

    private void writeClient(JsonGenerator json, int c) throws IOException {
        json.writeStartObject();
        json.writeStringField("process_id", snapshot.clientName(c));
        json.writeNumberField("threads", snapshot.threads(c));
        writeTasks(json, "previous_active", snapshot.previousActive(c));
        writeTasks(json, "previous_standby", snapshot.previousStandby(c));
        json.writeObjectFieldStart("lags");
        for (int t = 0; t < names.length; t++) {
            long lag = snapshot.lag(t, c);
            if (lag != Snapshot.NONE && (lag != snapshot.endOffset(t) || snapshot.isHolder(t, c))) {
                json.writeFieldName(names[t]);
                json.writeNumber(lag);
            }
        }
        json.writeEndObject();
        details.writeClient(json, c);
        json.writeEndObject();
    }

    private void writeTasks(JsonGenerator json, String name, BitSet tasks) throws IOException {
        json.writeArrayFieldStart(name);
        for (int t = tasks.nextSetBit(0); t >= 0; t = tasks.nextSetBit(t + 1)) {
            json.writeString(names[t]);
        }
        json.writeEndArray();
    }
}
