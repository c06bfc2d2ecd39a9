package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.github.optassign.model.Answer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads a TaskAssignment of format 1 from JSON. Unknown fields are skipped: within one version of the protocol the
 * service may be newer. {@link AnswerCheck} says whether the answer fits the snapshot.
 */
public final class AnswerReader {
    private final JsonParser json;
    private final List<Answer.Progress> progress = new ArrayList<>();
    private String detail = "";

    private AnswerReader(JsonParser json) {
        this.json = json;
    }

    /**
     * Reads an answer.
     *
     * @throws ServiceFailure if the text is no JSON, no TaskAssignment, or one of another format
     */
    public static Answer read(String text) throws ServiceFailure {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            AnswerReader reader = new AnswerReader(json);
            json.nextToken();
            Answer answer = reader.readAnswer();
            if (json.nextToken() != null) {
                throw new ServiceFailure("found text after the answer; allowed: one JSON object");
            }
            return answer;
        } catch (JsonProcessingException e) {
            throw new ServiceFailure("found an answer that is no JSON: " + e.getOriginalMessage());
        } catch (IOException e) {
            throw new ServiceFailure("cannot read the answer: " + e);
        }
    }

    private Answer readAnswer() throws IOException, ServiceFailure {
        Long format = null;
        String assignor = null;
        List<Answer.Client> clients = null;
        List<Answer.Client> plan = null;
        expectObject("the answer");
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
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
            throw new ServiceFailure("format: found " + format + "; allowed: 1");
        }
        return new Answer(require("assignor", assignor), require("clients", clients), plan, progress, detail);
    }

    private List<Answer.Client> readClients(String where) throws IOException, ServiceFailure {
        List<Answer.Client> clients = new ArrayList<>();
        expectArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            clients.add(readClient(where + "[" + clients.size() + "]"));
        }
        return clients;
    }

    private Answer.Client readClient(String where) throws IOException, ServiceFailure {
        String processId = null;
        List<String> active = List.of();
        List<String> standby = List.of();
        List<String> warmup = List.of();
        Long followupMs = null;
        expectObject(where);
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            String place = where + "." + name;
            switch (name) {
                case "process_id" -> processId = readText(place);
                case "active" -> active = readTexts(place);
                case "standby" -> standby = readTexts(place);
                case "warmup" -> warmup = readTexts(place);
                case "followup_rebalance_ms" -> followupMs = isNull() ? null : Long.valueOf(readNumber(place));
                default -> json.skipChildren();
            }
        }
        return new Answer.Client(require(where + ".process_id", processId), active, standby, warmup, followupMs);
    }

    private void readReport() throws IOException, ServiceFailure {
        expectObject("report");
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            if (name.equals("warmup_progress") && !isNull()) {
                expectArray("report.warmup_progress");
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    progress.add(readProgress("report.warmup_progress[" + progress.size() + "]"));
                }
            } else if (name.equals("termination") && !isNull()) {
                readTermination();
            } else {
                json.skipChildren();
            }
        }
    }

    private void readTermination() throws IOException, ServiceFailure {
        expectObject("report.termination");
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            if (name.equals("detail")) {
                detail = readText("report.termination.detail");
            } else {
                json.skipChildren();
            }
        }
    }

    private Answer.Progress readProgress(String where) throws IOException, ServiceFailure {
        String task = null;
        String processId = null;
        long lag = -1;
        long without = 0;
        expectObject(where);
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            String place = where + "." + name;
            switch (name) {
                case "task" -> task = readText(place);
                case "process_id" -> processId = readText(place);
                case "lag" -> lag = isNull() ? -1 : readNumber(place);
                case "answers_without_progress" -> without = readNumber(place);
                default -> json.skipChildren();
            }
        }
        int answers = (int) Math.max(0, Math.min(without, Integer.MAX_VALUE));
        return new Answer.Progress(
                require(where + ".task", task), require(where + ".process_id", processId), lag, answers);
    }

    private List<String> readTexts(String where) throws IOException, ServiceFailure {
        List<String> texts = new ArrayList<>();
        expectArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            texts.add(readText(where));
        }
        return texts;
    }

    private String readText(String where) throws IOException, ServiceFailure {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw typeFailure(where, "text");
        }
        return json.getText();
    }

    private long readNumber(String where) throws IOException, ServiceFailure {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
                || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw typeFailure(where, "an integer of 64 bits");
        }
        return json.getLongValue();
    }

    private boolean isNull() {
        return json.currentToken() == JsonToken.VALUE_NULL;
    }

    private void expectObject(String where) throws ServiceFailure {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw typeFailure(where, "an object");
        }
    }

    private void expectArray(String where) throws ServiceFailure {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw typeFailure(where, "an array");
        }
    }

    private ServiceFailure typeFailure(String where, String allowed) {
        JsonToken token = json.currentToken();
        return new ServiceFailure(where + ": found " + (token == null ? "nothing" : token) + "; allowed: " + allowed);
    }

    private static <T> T require(String where, T value) throws ServiceFailure {
        if (value == null) {
            throw new ServiceFailure(where + ": found nothing; allowed: it has to be there");
        }
        return value;
    }
}
