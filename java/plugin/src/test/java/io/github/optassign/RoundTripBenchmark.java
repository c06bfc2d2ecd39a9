package io.github.optassign;

import com.sun.net.httpserver.HttpServer;
import io.github.optassign.config.PluginConfig;
import io.github.optassign.config.ServiceOptions;
import io.github.optassign.memory.ChangelogEnds;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerReader;
import io.github.optassign.service.AnswerWriter;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.streams.AnswerConverter;
import io.github.optassign.streams.StreamsDetails;
import io.github.optassign.streams.StreamsGroup;
import io.github.optassign.testing.StreamsTestGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.assignment.ApplicationState;

/**
 * Measures what a rebalance costs beside the solving: reading Kafka's state, writing JSON, HTTP, reading and checking
 * the answer.
 *
 * <p>Arguments: the service's URL, or {@code stub} for a server in this JVM that answers at once with the fallback's
 * answer; then tasks, clients, warm-up calls, calls (default 1000 100 100 200). Prints quantiles in milliseconds as
 * JSON. Run it with {@code -Dsun.net.httpserver.nodelay=true}, else the stub waits for Nagle's algorithm.
 */
final class RoundTripBenchmark {
    private RoundTripBenchmark() {}

    /** Runs the benchmark; exits with an exception if an answer is not valid. */
    public static void main(String[] args) throws Exception {
        int tasks = number(args, 1, 1_000);
        int clients = number(args, 2, 100);
        int warmups = number(args, 3, 100);
        int calls = number(args, 4, 200);
        StreamsTestGroup group = group(tasks, clients);
        ApplicationState state = group.state();
        HttpServer stub = null;
        String url = args[0];
        if (url.equals("stub")) {
            Snapshot snapshot =
                    StreamsGroup.read(state, new ChangelogEnds(), false).snapshot();
            RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null);
            stub = stub(AnswerWriter.write(RebalancePlanner.toAnswer(snapshot, result), false));
            url = "http://127.0.0.1:" + stub.getAddress().getPort();
        }
        PluginConfig config = PluginConfig.of(Map.of(
                "optassign.url",
                url,
                "optassign.timeout.ms",
                60_000,
                "request.timeout.ms",
                120_000,
                "application.id",
                "benchmark"));
        double[][] times = new double[4][calls];
        int bytes = 0;
        for (int call = -warmups; call < calls; call++) {
            long start = System.nanoTime();
            StreamsGroup read = StreamsGroup.read(state, new ChangelogEnds(), false);
            byte[] body = SnapshotWriter.write(
                    read.snapshot(),
                    new StreamsDetails(read, ServiceOptions.NONE, List.of(), null),
                    "benchmark",
                    Instant.now(),
                    null);
            long written = System.nanoTime();
            ServiceClient.Reply reply = new ServiceClient(config)
                    .ask("benchmark", body, 64 << 20, -1, start + TimeUnit.SECONDS.toNanos(60));
            long answered = System.nanoTime();
            CheckedAnswer checked =
                    AnswerCheck.check(read.snapshot(), AnswerReader.read(reply.json(), read.snapshot()));
            AnswerConverter.convert(read, checked, Instant.now());
            long end = System.nanoTime();
            bytes = body.length;
            if (call >= 0) {
                times[0][call] = (written - start) / 1e6;
                times[1][call] = (answered - written) / 1e6;
                times[2][call] = (end - answered) / 1e6;
                times[3][call] = (end - start) / 1e6;
            }
        }
        System.out.printf(
                Locale.ROOT,
                "{\"tasks\": %d, \"clients\": %d, \"calls\": %d, \"body_bytes\": %d, \"write_ms\": %s, "
                        + "\"http_ms\": %s, \"read_ms\": %s, \"total_ms\": %s}%n",
                tasks,
                clients,
                calls,
                bytes,
                quantiles(times[0]),
                quantiles(times[1]),
                quantiles(times[2]),
                quantiles(times[3]));
        if (stub != null) {
            stub.stop(0);
        }
    }

    private static int number(String[] args, int at, int otherwise) {
        return args.length > at ? Integer.parseInt(args[at]) : otherwise;
    }

    /**
     * Makes a group at rest: a fifth of the tasks stateless, each of the others with an active and a standby in place.
     */
    private static StreamsTestGroup group(int tasks, int clients) {
        Random random = new Random(1);
        StreamsTestGroup group = StreamsTestGroup.of(clients);
        group.standbys = 1;
        for (int g = 0; g < 10; g++) {
            StreamsTestGroup.Kind kind = g < 2 ? StreamsTestGroup.Kind.STATELESS : StreamsTestGroup.Kind.LOGGED;
            group.tasks(g, tasks / 10, kind, 1_000_000 + random.nextInt(1_000));
        }
        int next = 0;
        for (String task : group.tasks.keySet()) {
            int owner = next++ % clients;
            group.runs(owner, task);
            if (group.tasks.get(task) == StreamsTestGroup.Kind.LOGGED) {
                group.holds((owner + 1) % clients, task, random.nextInt(10_000));
            }
        }
        return group;
    }

    private static HttpServer stub(String answer) throws IOException {
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                exchange.getResponseHeaders().set("Optassign-Protocol", "1");
                exchange.sendResponseHeaders(200, bytes.length);
                exchange.getResponseBody().write(bytes);
            }
        });
        server.start();
        return server;
    }

    private static String quantiles(double[] times) {
        double[] sorted = times.clone();
        Arrays.sort(sorted);
        StringBuilder text = new StringBuilder("{");
        for (int percent : new int[] {50, 90, 99}) {
            double value = sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
            text.append(text.length() > 1 ? ", " : "")
                    .append(String.format(Locale.ROOT, "\"p%d\": %.2f", percent, value));
        }
        return text.append('}').toString();
    }
}
