package io.github.optassign.baselines;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/**
 * A server of requests, one JSON object per line, until the input ends. An invalid request or a failure of a Kafka
 * class is answered by a line with {@code error}.
 */
final class Server {
    /** A line of input: {@code timed_calls} calls (default 1), after {@code warmup_calls} untimed calls (default 0). */
    record Request(
            @JsonProperty(required = true) String assignor,
            @JsonProperty(required = true) JsonNode snapshot,
            Integer warmupCalls,
            Integer timedCalls) {}

    /**
     * A line of output.
     *
     * @param seconds the time of Kafka's code in each timed call, s
     */
    record Response(
            List<BaselineAnswer.Assigned> clients,
            boolean followup,
            List<Double> seconds,
            List<String> notes,
            String version) {}

    private Server() {}

    static void serve(BufferedReader requests, PrintStream responses) throws IOException {
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (!line.isBlank()) {
                responses.println(write(respond(line)));
                responses.flush();
            }
        }
    }

    static String write(Object value) throws JsonProcessingException {
        return SnapshotJson.JSON.writeValueAsString(value);
    }

    private static Object respond(String line) {
        try {
            Request request = SnapshotJson.read(() -> SnapshotJson.JSON.readValue(line, Request.class));
            Baseline baseline = Baselines.find(request.assignor());
            BaselineApplication application = new BaselineApplication(SnapshotJson.of(request.snapshot()));
            int warmupCalls = request.warmupCalls() == null ? 0 : request.warmupCalls();
            int timedCalls = request.timedCalls() == null ? 1 : request.timedCalls();
            BaselineTiming timing = BaselineTiming.measure(baseline, application, warmupCalls, timedCalls);
            BaselineAnswer answer = timing.answer();
            return new Response(
                    answer.clients(),
                    answer.followup(),
                    timing.seconds(),
                    baseline.notes(application),
                    baseline.version());
        } catch (IllegalArgumentException e) {
            return Map.of("error", String.valueOf(e.getMessage()));
        } catch (RuntimeException | OutOfMemoryError | StackOverflowError e) {
            return Map.of("error", e.toString());
        }
    }
}
