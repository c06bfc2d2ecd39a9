package io.github.optassign.watch.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

/** The page of metrics. */
class MetricsTest {
    @Test
    void areReadOverHttpInPrometheusFormat() throws IOException, InterruptedException {
        Metrics metrics = new Metrics();
        metrics.count("optassign_watch_triggers_total", "group", "a\"b", "reason", "caught_up");
        metrics.count("optassign_watch_triggers_total", "group", "a\"b", "reason", "caught_up");
        metrics.set("optassign_watch_config_changed", 1, "group", "x");
        metrics.forget("x");
        metrics.set("optassign_watch_groups", 3);
        try (MetricsServer server = new MetricsServer(new InetSocketAddress("127.0.0.1", 0), metrics)) {
            URI uri = URI.create("http://127.0.0.1:" + server.address().getPort() + "/metrics");
            HttpResponse<String> answer = HttpClient.newHttpClient()
                    .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
            assertEquals(200, answer.statusCode());
            assertEquals("""
                    # HELP optassign_watch_config_changed 1 while a group's config has the mark of a trigger.
                    # TYPE optassign_watch_config_changed gauge
                    # HELP optassign_watch_groups Groups that are watched.
                    # TYPE optassign_watch_groups gauge
                    optassign_watch_groups 3
                    # HELP optassign_watch_triggers_total Assignments triggered, by reason.
                    # TYPE optassign_watch_triggers_total counter
                    optassign_watch_triggers_total{group="a\\"b",reason="caught_up"} 2
                    """, answer.body());
        }
    }
}
