package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.endpoint.Mode;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The answer that Kafka has taken in place of the service's, as reported to the service (docs/reference/http.md).
 *
 * @param rebalance id of the rebalance; the service may have been asked under it
 * @param appliedAt when it was decided, milliseconds since 1970 by this JVM's clock
 * @param takenNanos when Kafka took it, as of System.nanoTime
 * @param rememberedAt when the answer that the snapshot has as remembered was decided; -1: it has none
 * @param why in one line why the service's answer was not applied
 * @param applied the TaskAssignment as JSON
 * @param snapshot the ApplicationState as JSON in UTF-8
 */
public record AppliedReport(
        String application,
        Mode mode,
        String rebalance,
        long appliedAt,
        long takenNanos,
        long rememberedAt,
        String why,
        String applied,
        byte[] snapshot) {
    /** Milliseconds since Kafka took it, by a clock that only counts. */
    public long ageMs() {
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - takenNanos));
    }

    /** Bytes that it takes in memory, about. */
    public long size() {
        return snapshot.length + 2L * applied.length();
    }

    /** The body of the request, in parts; the snapshot is not copied. */
    List<byte[]> toBody() {
        String head = "{\"application\":" + quote(application) + ",\"why\":" + quote(why) + ",\"applied\":" + applied
                + ",\"snapshot\":";
        return List.of(head.getBytes(StandardCharsets.UTF_8), snapshot, "}".getBytes(StandardCharsets.UTF_8));
    }

    private static String quote(String text) {
        StringWriter quoted = new StringWriter();
        try (JsonGenerator json = Json.FACTORY.createGenerator(quoted)) {
            json.writeString(text);
        } catch (IOException e) {
            throw new IllegalStateException("JSON is written to memory", e);
        }
        return quoted.toString();
    }
}
