package io.github.optassign.baselines;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line, which runs an assignor on a snapshot or, with {@code --serve}, on one request per line of input.
 */
public final class BaselinesMain {
    private static final String USAGE = """
        usage: SNAPSHOT.json [--assignor high-availability|sticky|broker-sticky|broker-sticky-4.4]
                             [--warmup-calls N] [--timed-calls N]
               --serve
        Prints a TaskAssignment, format 1. Seconds of the timed calls go to standard error.""";

    private BaselinesMain() {}

    /** Runs the command line. Exit codes: 0 on success, 1 if Kafka's class failed, 2 on invalid usage or input. */
    public static void main(String[] arguments) throws IOException {
        // Output of Kafka's code must not mix with the answers.
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        if (arguments.length == 1 && arguments[0].equals("--serve")) {
            FileInputStream in = new FileInputStream(FileDescriptor.in);
            Server.serve(new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)), answers);
            return;
        }
        System.exit(run(List.of(arguments), answers));
    }

    /**
     * Runs one assignor on the snapshot of a file, and prints its assignment to {@code answers}.
     *
     * @return the exit code
     */
    private static int run(List<String> arguments, PrintStream answers) throws IOException {
        Map<String, String> options = new LinkedHashMap<>(
                Map.of("--assignor", "high-availability", "--warmup-calls", "0", "--timed-calls", "1"));
        if (arguments.size() % 2 == 0 || arguments.get(0).startsWith("--")) {
            return complain(USAGE);
        }
        for (int i = 1; i < arguments.size(); i += 2) {
            if (options.replace(arguments.get(i), arguments.get(i + 1)) == null) {
                return complain(USAGE);
            }
        }
        try {
            Path file = Path.of(arguments.get(0));
            if (!Files.isReadable(file)) {
                return complain(file + ": found no file that can be read");
            }
            String text = Files.readString(file);
            JsonNode json = SnapshotJson.read(() -> SnapshotJson.JSON.readTree(text));
            SnapshotJson snapshot = SnapshotJson.of(json);
            Baseline baseline = Baselines.find(options.get("--assignor"));
            BaselineApplication application = new BaselineApplication(snapshot);
            int warmupCalls = Integer.parseInt(options.get("--warmup-calls"));
            int timedCalls = Integer.parseInt(options.get("--timed-calls"));
            BaselineTiming timing = BaselineTiming.measure(baseline, application, warmupCalls, timedCalls);
            System.err.println("seconds: " + timing.seconds());
            answers.println(Server.write(
                    toTaskAssignment("kafka-" + options.get("--assignor"), snapshot, application, timing, baseline)));
            answers.flush();
            return 0;
        } catch (IllegalArgumentException e) {
            return complain(e.getMessage());
        } catch (IllegalStateException e) {
            complain(e.toString());
            return 1;
        }
    }

    private static int complain(String message) {
        System.err.println(message);
        return 2;
    }

    /**
     * Converts the answer into a TaskAssignment. The client with the least process id asks for the follow-up; a
     * draining client only if all drain.
     */
    private static Map<String, Object> toTaskAssignment(
            String name,
            SnapshotJson snapshot,
            BaselineApplication application,
            BaselineTiming timing,
            Baseline baseline) {
        List<String> sorted = snapshot.clients().stream()
                .sorted(Comparator.comparing(SnapshotJson.Client::draining)
                        .thenComparing(SnapshotJson.Client::processId))
                .map(SnapshotJson.Client::processId)
                .toList();
        String followupClient = timing.answer().followup() ? sorted.get(0) : null;
        List<Map<String, Object>> clients = timing.answer().clients().stream()
                .sorted(Comparator.comparing(BaselineAnswer.Assigned::processId))
                .map(client -> {
                    Map<String, Object> fields = new LinkedHashMap<>();
                    fields.put("process_id", client.processId());
                    fields.put("active", client.active());
                    fields.put("standby", client.standby());
                    fields.put("warmup", client.warmup());
                    boolean followup = client.processId().equals(followupClient);
                    fields.put(
                            "followup_rebalance_ms",
                            followup ? application.configs().probingRebalanceIntervalMs() : null);
                    return fields;
                })
                .toList();
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("found_by", "kafka");
        report.put("termination", Map.of("reason", "heuristic"));
        report.put("seconds", Map.of("assign", timing.seconds().get(0)));
        report.put("notes", baseline.notes(application));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("format", 1);
        answer.put("assignor", name);
        answer.put("clients", clients);
        answer.put("report", report);
        return answer;
    }
}
