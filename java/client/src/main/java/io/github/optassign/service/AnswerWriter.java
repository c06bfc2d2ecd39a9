package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import java.io.IOException;
import java.io.StringWriter;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A writer of this JVM's answers as JSON that the service can remember: a TaskAssignment of format 1. */
public final class AnswerWriter {
    private AnswerWriter() {}

    /**
     * Writes an answer.
     *
     * @param stalled whether all copies that the answer waits for have made no progress for long
     * @throws IOException never in practice: the JSON is written to memory
     */
    public static String write(Answer answer, boolean stalled) throws IOException {
        return write(answer, stalled, -1);
    }

    /**
     * Writes an answer with a known time until its plan is reached.
     *
     * @param toBalanceMs the expected time until the plan is reached, ms; -1 if unknown or reached
     */
    public static String write(Answer answer, boolean stalled, long toBalanceMs) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = Json.FACTORY.createGenerator(text)) {
            json.writeStartObject();
            json.writeNumberField("format", 1);
            json.writeStringField("assignor", answer.assignor());
            json.writeArrayFieldStart("clients");
            for (Answer.Client client : answer.clients()) {
                json.writeStartObject();
                writeCopies(json, client);
                writeTasks(json, "warmup", client.warmup());
                if (client.followupMs() != null) {
                    json.writeNumberField("followup_rebalance_ms", client.followupMs());
                }
                json.writeEndObject();
            }
            json.writeEndArray();
            if (answer.plan() != null) {
                json.writeArrayFieldStart("plan");
                for (Answer.Client client : answer.plan()) {
                    json.writeStartObject();
                    writeCopies(json, client);
                    json.writeEndObject();
                }
                json.writeEndArray();
            }
            writeReport(json, answer, stalled, toBalanceMs);
            json.writeEndObject();
        }
        return text.toString();
    }

    private static void writeCopies(JsonGenerator json, Answer.Client client) throws IOException {
        json.writeStringField("process_id", client.processId());
        writeTasks(json, "active", client.active());
        writeTasks(json, "standby", client.standby());
    }

    private static void writeTasks(JsonGenerator json, String name, List<String> tasks) throws IOException {
        json.writeArrayFieldStart(name);
        for (String task : tasks) {
            json.writeString(task);
        }
        json.writeEndArray();
    }

    private static void writeReport(JsonGenerator json, Answer answer, boolean stalled, long toBalanceMs)
            throws IOException {
        json.writeObjectFieldStart("report");
        json.writeStringField("found_by", answer.assignor());
        if (Answer.FALLBACK.equals(answer.assignor())) {
            json.writeObjectFieldStart("termination");
            json.writeStringField("reason", Answer.FALLBACK);
            json.writeEndObject();
        }
        json.writeBooleanField("stalled", stalled);
        if (toBalanceMs >= 0) {
            json.writeNumberField("to_balance_ms", toBalanceMs);
        }
        json.writeArrayFieldStart("warmup_progress");
        for (Answer.Progress copy : answer.progress()) {
            json.writeStartObject();
            json.writeStringField("task", copy.task());
            json.writeStringField("process_id", copy.processId());
            if (copy.lag() >= 0) {
                json.writeNumberField("lag", copy.lag());
            }
            json.writeNumberField("answers_without_progress", copy.answersWithoutProgress());
            json.writeNumberField("under_way_ms", copy.underWayMs());
            json.writeEndObject();
        }
        json.writeEndArray();
        if (answer.pace() != null) {
            writePace(json, answer.pace());
        }
        json.writeEndObject();
    }

    private static void writePace(JsonGenerator json, Pace pace) throws IOException {
        json.writeObjectFieldStart("pace");
        json.writeStringField("taken_at", Instant.ofEpochMilli(pace.takenAtMs()).toString());
        if (pace.countedAtMs() >= 0) {
            json.writeStringField(
                    "counted_at", Instant.ofEpochMilli(pace.countedAtMs()).toString());
        }
        json.writeNumberField("looks", pace.looks());
        json.writeArrayFieldStart("clients");
        for (Map.Entry<String, Pace.Restored> client : new TreeMap<>(pace.clients()).entrySet()) {
            json.writeStartObject();
            json.writeStringField("process_id", client.getKey());
            json.writeNumberField("offsets", client.getValue().offsets());
            json.writeNumberField("ms", client.getValue().ms());
            if (client.getValue().evidence() != Evidence.ONCE) { // the default of the format
                json.writeStringField("evidence", client.getValue().evidence().toString());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
