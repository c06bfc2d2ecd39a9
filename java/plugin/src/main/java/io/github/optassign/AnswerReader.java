package io.github.optassign;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads a TaskAssignment (format 1) from JSON. Unknown fields are passed over: within one version of the protocol the
 * service may be newer. Whether the answer fits the snapshot is {@link AnswerCheck}'s to say.
 */
final class AnswerReader {
    private final JsonParser json;

    private AnswerReader(JsonParser json) {
        this.json = json;
    }

    /**
     * Reads an answer.
     *
     * @throws ServiceFailure if the text is no JSON, no TaskAssignment, or one of another format
     */
    static Answer read(String text) throws ServiceFailure {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            AnswerReader reader = new AnswerReader(json);
            json.nextToken();
            Answer answer = reader.answer();
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

    private Answer answer() throws IOException, ServiceFailure {
        Long format = null;
        String assignor = null;
        List<Answer.Client> clients = null;
        List<Answer.Client> plan = null;
        List<Answer.Progress> progress = List.of();
        startObject("the answer");
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            switch (name) {
                case "format" -> format = number(name);
                case "assignor" -> assignor = text(name);
                case "clients" -> clients = clients(name);
                case "plan" -> plan = isNull() ? null : clients(name);
                case "report" -> progress = isNull() ? progress : report();
                default -> json.skipChildren();
            }
        }
        if (format == null || format != 1) {
            throw new ServiceFailure("format: found " + format + "; allowed: 1");
        }
        return new Answer(required("assignor", assignor), required("clients", clients), plan, progress);
    }

    private List<Answer.Client> clients(String where) throws IOException, ServiceFailure {
        List<Answer.Client> clients = new ArrayList<>();
        startArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            clients.add(client(where + "[" + clients.size() + "]"));
        }
        return clients;
    }

    private Answer.Client client(String where) throws IOException, ServiceFailure {
        String processId = null;
        List<String> active = List.of();
        List<String> standby = List.of();
        List<String> warmup = List.of();
        Long followupMs = null;
        startObject(where);
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            String place = where + "." + name;
            switch (name) {
                case "process_id" -> processId = text(place);
                case "active" -> active = texts(place);
                case "standby" -> standby = texts(place);
                case "warmup" -> warmup = texts(place);
                case "followup_rebalance_ms" -> followupMs = isNull() ? null : Long.valueOf(number(place));
                default -> json.skipChildren();
            }
        }
        return new Answer.Client(required(where + ".process_id", processId), active, standby, warmup, followupMs);
    }

    private List<Answer.Progress> report() throws IOException, ServiceFailure {
        List<Answer.Progress> progress = new ArrayList<>();
        startObject("report");
        while (json.nextToken() != JsonToken.END_OBJECT) {
            boolean wanted = "warmup_progress".equals(json.currentName());
            json.nextToken();
            if (!wanted || isNull()) {
                json.skipChildren();
                continue;
            }
            startArray("report.warmup_progress");
            while (json.nextToken() != JsonToken.END_ARRAY) {
                progress.add(progress("report.warmup_progress[" + progress.size() + "]"));
            }
        }
        return progress;
    }

    private Answer.Progress progress(String where) throws IOException, ServiceFailure {
        String task = null;
        String processId = null;
        long lag = -1;
        long without = 0;
        startObject(where);
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            String place = where + "." + name;
            switch (name) {
                case "task" -> task = text(place);
                case "process_id" -> processId = text(place);
                case "lag" -> lag = isNull() ? -1 : number(place);
                case "answers_without_progress" -> without = number(place);
                default -> json.skipChildren();
            }
        }
        int answers = (int) Math.max(0, Math.min(without, Integer.MAX_VALUE));
        return new Answer.Progress(
                required(where + ".task", task), required(where + ".process_id", processId), lag, answers);
    }

    private List<String> texts(String where) throws IOException, ServiceFailure {
        List<String> texts = new ArrayList<>();
        startArray(where);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            texts.add(text(where));
        }
        return texts;
    }

    private String text(String where) throws IOException, ServiceFailure {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw found(where, "text");
        }
        return json.getText();
    }

    private long number(String where) throws IOException, ServiceFailure {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
                || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw found(where, "an integer of 64 bits");
        }
        return json.getLongValue();
    }

    private boolean isNull() {
        return json.currentToken() == JsonToken.VALUE_NULL;
    }

    private void startObject(String where) throws ServiceFailure {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw found(where, "an object");
        }
    }

    private void startArray(String where) throws ServiceFailure {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw found(where, "an array");
        }
    }

    private ServiceFailure found(String where, String allowed) {
        JsonToken token = json.currentToken();
        return new ServiceFailure(where + ": found " + (token == null ? "nothing" : token) + "; allowed: " + allowed);
    }

    private static <T> T required(String where, T value) throws ServiceFailure {
        if (value == null) {
            throw new ServiceFailure(where + ": found nothing; allowed: it has to be there");
        }
        return value;
    }
}
