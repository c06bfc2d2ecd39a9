package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.endpoint.Mode;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A report to the service on an answer that was applied in place of its own (docs/reference/http.md).
 *
 * @param rebalance the id of the rebalance, under which the service may have been asked
 * @param appliedAt the time of the decision, milliseconds since 1970 by this JVM's clock
 * @param decidedNanos the time of the decision, as of System.nanoTime
 * @param rememberedAt the time of the snapshot's remembered answer, milliseconds since 1970; -1 if the snapshot has
 *     none
 * @param why the reason why the service's answer was not applied, in one line
 * @param applied the applied TaskAssignment as JSON
 * @param snapshot the ApplicationState as JSON in UTF-8
 */
public record AppliedReport(
        String application,
        Mode mode,
        String rebalance,
        long appliedAt,
        long decidedNanos,
        long rememberedAt,
        String why,
        String applied,
        byte[] snapshot) {
    /** Returns the milliseconds since the decision, by the monotonic clock. */
    public long ageMs() {
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - decidedNanos));
    }

    /** Returns the approximate size in memory, bytes. */
    public long size() {
        return snapshot.length + 2L * applied.length();
    }

    /** Returns the body of the request in parts, without a copy of the snapshot. */
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
