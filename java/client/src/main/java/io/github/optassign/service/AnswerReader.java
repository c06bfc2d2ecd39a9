package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.github.optassign.model.Answer;
import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Snapshot;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A reader of TaskAssignments of format 1 from JSON. Unknown fields are skipped, since the service may be newer within
 * a version of the protocol. An answer takes memory in proportion to the snapshot: names are replaced by the snapshot's
 * objects, and lists longer than the snapshot's are refused. {@link AnswerCheck} checks whether the answer fits the
 * snapshot.
 */
public final class AnswerReader {
    private final JsonParser json;
    private final Snapshot snapshot;
    private final List<Answer.Progress> progress = new ArrayList<>();
    private Pace pace;
    private String detail = "";

    private AnswerReader(JsonParser json, Snapshot snapshot) {
        this.json = json;
        this.snapshot = snapshot;
    }

    /**
     * Reads an answer to a snapshot.
     *
     * @throws WrongAnswer if the text is not JSON, not a TaskAssignment, or of another format
     */
    public static Answer read(String text, Snapshot snapshot) throws WrongAnswer {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            AnswerReader reader = new AnswerReader(json, snapshot);
            json.nextToken();
            Answer answer = reader.readAnswer();
            if (json.nextToken() != null) {
                throw new WrongAnswer("found text after the answer; allowed: one JSON object");
            }
            return answer;
        } catch (JsonProcessingException e) {
            throw new WrongAnswer("found an answer that is no JSON: " + e.getOriginalMessage());
        } catch (IOException e) {
            throw new WrongAnswer("cannot read the answer: " + e);
        }
    }

    private Answer readAnswer() throws IOException, WrongAnswer {
        Long format = null;
        String assignor = null;
        List<Answer.Client> clients = null;
        List<Answer.Client> plan = null;
        expectObject("the answer");
        for (String name = nextField(); name != null; name = nextField()) {
            switch (name) {
                case "format" -> format = readNumber(name);
                case "assignor" -> assignor = readText(name);
                case "clients" -> clients = readClients(name);
                case "plan" -> plan = isNull() ? null : readClients(name);
                case "report" -> {
                    if (!isNull()) {
                        readReport();
                    }
                }
                default -> json.skipChildren();
            }
        }
        if (format == null || format != 1) {
            throw new WrongAnswer("format: found " + format + "; allowed: 1");
        }
        return new Answer(require("assignor", assignor), require("clients", clients), plan, progress, pace, detail);
    }

    private List<Answer.Client> readClients(String where) throws IOException, WrongAnswer {
        List<Answer.Client> clients = new ArrayList<>();
        expectArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            if (clients.size() == snapshot.clientCount()) {
                throw new WrongAnswer(where + ": found more than " + clients.size() + "; allowed: every client once");
            }
            clients.add(readClient(where + "[" + clients.size() + "]"));
        }
        return clients;
    }

    private Answer.Client readClient(String where) throws IOException, WrongAnswer {
        String processId = null;
        List<String> active = List.of();
        List<String> standby = List.of();
        List<String> warmup = List.of();
        Long followupMs = null;
        expectObject(where);
        for (String name = nextField(); name != null; name = nextField()) {
            String place = where + "." + name;
            switch (name) {
                case "process_id" -> processId = readClientName(place);
                case "active" -> active = readTasks(place);
                case "standby" -> standby = readTasks(place);
                case "warmup" -> warmup = readTasks(place);
                case "followup_rebalance_ms" -> followupMs = isNull() ? null : Long.valueOf(readNumber(place));
                default -> json.skipChildren();
            }
        }
        return new Answer.Client(require(where + ".process_id", processId), active, standby, warmup, followupMs);
    }

    private void readReport() throws IOException, WrongAnswer {
        expectObject("report");
        for (String name = nextField(); name != null; name = nextField()) {
            if (name.equals("warmup_progress") && !isNull()) {
                expectArray("report.warmup_progress");
                for (int i = 0; json.nextToken() != JsonToken.END_ARRAY; i++) {
                    readProgress("report.warmup_progress[" + i + "]");
                }
            } else if (name.equals("pace") && !isNull()) {
                pace = readPace();
            } else if (name.equals("termination") && !isNull()) {
                readTermination();
            } else {
                json.skipChildren();
            }
        }
    }

    /**
     * Reads the clients' restore rates.
     *
     * @return null if the answer has no usable times; only the learned rates are lost then
     */
    private Pace readPace() throws IOException, WrongAnswer {
        long takenAt = -1;
        long countedAt = -1;
        long looks = 0;
        Map<String, Pace.Restored> clients = new HashMap<>();
        expectObject("report.pace");
        for (String name = nextField(); name != null; name = nextField()) {
            String place = "report.pace." + name;
            switch (name) {
                case "taken_at" -> takenAt = readTime(place);
                case "counted_at" -> countedAt = isNull() ? -1 : readTime(place);
                case "looks" -> looks = readNumber(place);
                case "clients" -> {
                    expectArray(place);
                    for (int i = 0; json.nextToken() != JsonToken.END_ARRAY; i++) {
                        readRestored(place + "[" + i + "]", clients);
                    }
                }
                default -> json.skipChildren();
            }
        }
        int capped = (int) Math.max(0, Math.min(looks, Integer.MAX_VALUE - 1));
        return takenAt < 0 ? null : new Pace(takenAt, Map.copyOf(clients), capped, countedAt);
    }

    /**
     * Reads a client's restore rate into the map. Ignores clients that the snapshot does not have, and invalid rates.
     */
    private void readRestored(String where, Map<String, Pace.Restored> clients) throws IOException, WrongAnswer {
        String processId = null;
        long offsets = 0;
        long ms = 0;
        Evidence evidence = Evidence.ONCE;
        expectObject(where);
        for (String name = nextField(); name != null; name = nextField()) {
            String place = where + "." + name;
            switch (name) {
                case "process_id" -> processId = readText(place);
                case "offsets" -> offsets = readNumber(place);
                case "ms" -> ms = readNumber(place);
                case "evidence" -> evidence = Evidence.of(readText(place));
                default -> json.skipChildren();
            }
        }
        Integer c = snapshot.clientIndex(require(where + ".process_id", processId));
        if (c != null && offsets >= 0 && ms > 0) {
            clients.put(snapshot.clientName(c), new Pace.Restored(offsets, ms, evidence));
        }
    }

    /** Returns a time in milliseconds since 1970, or -1 if it is invalid or earlier. */
    private long readTime(String where) throws IOException, WrongAnswer {
        try {
            return Math.max(
                    -1, OffsetDateTime.parse(readText(where)).toInstant().toEpochMilli());
        } catch (DateTimeException | ArithmeticException e) {
            return -1;
        }
    }

    private void readTermination() throws IOException, WrongAnswer {
        expectObject("report.termination");
        for (String name = nextField(); name != null; name = nextField()) {
            if (name.equals("detail")) {
                detail = ServiceFailure.toOneLine(readText("report.termination.detail"));
            } else {
                json.skipChildren();
            }
        }
    }

    /** Reads the progress of a copy. Ignores tasks and clients that the snapshot does not have. */
    private void readProgress(String where) throws IOException, WrongAnswer {
        String task = null;
        String processId = null;
        long lag = -1;
        long without = 0;
        long underWayMs = 0;
        expectObject(where);
        for (String name = nextField(); name != null; name = nextField()) {
            String place = where + "." + name;
            switch (name) {
                case "task" -> task = readText(place);
                case "process_id" -> processId = readText(place);
                case "lag" -> lag = isNull() ? -1 : readNumber(place);
                case "answers_without_progress" -> without = readNumber(place);
                case "under_way_ms" -> underWayMs = readNumber(place);
                default -> json.skipChildren();
            }
        }
        int answers = (int) Math.max(0, Math.min(without, Integer.MAX_VALUE));
        Integer t = snapshot.taskIndex(require(where + ".task", task));
        Integer c = snapshot.clientIndex(require(where + ".process_id", processId));
        if (t != null && c != null) {
            progress.add(new Answer.Progress(
                    snapshot.taskName(t), snapshot.clientName(c), lag, answers, Math.max(0, underWayMs)));
        }
    }

    private String readClientName(String where) throws IOException, WrongAnswer {
        String name = readText(where);
        Integer c = snapshot.clientIndex(name);
        if (c == null) {
            throw new WrongAnswer("found client " + name + "; allowed: clients of the snapshot");
        }
        return snapshot.clientName(c);
    }

    private List<String> readTasks(String where) throws IOException, WrongAnswer {
        List<String> tasks = new ArrayList<>();
        expectArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            String name = readText(where);
            Integer t = snapshot.taskIndex(name);
            if (t == null) {
                throw new WrongAnswer("found task " + name + "; allowed: tasks of the snapshot");
            }
            if (tasks.size() == snapshot.taskCount()) {
                throw new WrongAnswer(where + ": found more than " + tasks.size() + " tasks; allowed: each once");
            }
            tasks.add(snapshot.taskName(t));
        }
        return tasks;
    }

    /** Moves to the value of an object's next field, and returns the field's name, or null at the object's end. */
    private String nextField() throws IOException {
        String name = json.nextFieldName();
        if (name != null) {
            json.nextToken();
        }
        return name;
    }

    private String readText(String where) throws IOException, WrongAnswer {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw typeFailure(where, "text");
        }
        return json.getText();
    }

    private long readNumber(String where) throws IOException, WrongAnswer {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
                || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw typeFailure(where, "an integer of 64 bits");
        }
        return json.getLongValue();
    }

    private boolean isNull() {
        return json.currentToken() == JsonToken.VALUE_NULL;
    }

    private void expectObject(String where) throws WrongAnswer {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw typeFailure(where, "an object");
        }
    }

    private void expectArray(String where) throws WrongAnswer {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw typeFailure(where, "an array");
        }
    }

    private WrongAnswer typeFailure(String where, String allowed) {
        JsonToken token = json.currentToken();
        return new WrongAnswer(where + ": found " + (token == null ? "nothing" : token) + "; allowed: " + allowed);
    }

    private static <T> T require(String where, T value) throws WrongAnswer {
        if (value == null) {
            throw new WrongAnswer(where + ": found nothing; allowed: a value");
        }
        return value;
    }
}
