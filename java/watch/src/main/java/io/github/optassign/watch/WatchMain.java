package io.github.optassign.watch;

import io.github.optassign.watch.Settings.BadSettingsException;
import io.github.optassign.watch.kafka.Kafka;
import io.github.optassign.watch.metrics.Metrics;
import io.github.optassign.watch.metrics.MetricsServer;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The command line of the watcher: {@code java -jar optassign-watch.jar --config admin.properties}
 * (docs/how-to/broker.md). Exit codes: 0 if stopped, or {@code --once} succeeded; 1 if {@code --once} failed; 2 on
 * invalid usage or properties.
 */
public final class WatchMain {
    /** The longest shutdown of the watcher. systemd and Kubernetes wait for at least 30 s. */
    private static final long LONGEST_END_MS = 20_000;

    private static final Logger LOG = LoggerFactory.getLogger(WatchMain.class);
    private static final int BROKEN = 1;
    private static final int USAGE = 2;

    private WatchMain() {}

    /** Runs the watcher until a signal ends it or, with {@code --once}, for one look. */
    public static void main(String[] arguments) throws InterruptedException {
        if (List.of(arguments).contains("--help")) {
            System.out.println(Settings.USAGE);
            return;
        }
        int code;
        try {
            code = run(Settings.read(List.of(arguments)));
        } catch (BadSettingsException | KafkaException e) {
            // Kafka names an invalid property in the cause.
            String cause = e.getCause() == null ? "" : ": " + e.getCause().getMessage();
            System.err.println("optassign watch: error: " + e.getMessage() + cause);
            code = USAGE;
        } catch (ExecutionException e) {
            System.err.println("optassign watch: error: Kafka cannot be asked: " + e.getCause());
            code = BROKEN;
        }
        if (code != 0) {
            System.exit(code);
        }
    }

    private static int run(Settings settings) throws BadSettingsException, InterruptedException, ExecutionException {
        Metrics metrics = new Metrics();
        MetricsServer server = listen(settings, metrics);
        try (Kafka kafka = new Kafka(Admin.create(settings.admin()), metrics)) {
            Watcher watcher = new Watcher(settings, kafka, metrics);
            Thread worker = Thread.currentThread();
            AtomicBoolean hasEnded = new AtomicBoolean();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(watcher, worker, hasEnded)));
            try {
                if (settings.isOnce()) {
                    return watcher.runOnce() ? 0 : BROKEN;
                }
                watcher.run();
            } finally {
                hasEnded.set(true);
            }
        } finally {
            if (server != null) {
                server.close();
            }
        }
        return 0;
    }

    /**
     * Stops the watcher after a signal, and waits until it has restored changed configs. The exit code is 0, since a
     * signal is the normal end.
     */
    private static void end(Watcher watcher, Thread worker, AtomicBoolean hasEnded) {
        if (hasEnded.get()) {
            return;
        }
        watcher.stop();
        try {
            worker.join(LONGEST_END_MS);
        } catch (InterruptedException e) {
            worker.interrupt();
        }
        if (hasEnded.get()) {
            Runtime.getRuntime().halt(0);
        }
    }

    /**
     * Starts the metrics page.
     *
     * @return null if no address is set
     */
    private static MetricsServer listen(Settings settings, Metrics metrics) throws BadSettingsException {
        if (settings.metrics().isEmpty()) {
            return null;
        }
        try {
            MetricsServer server = new MetricsServer(settings.metrics().get(), metrics);
            LOG.info("metrics on http:/{}/metrics", server.address());
            return server;
        } catch (IOException e) {
            throw new BadSettingsException("--metrics: found the unusable address "
                    + settings.metrics().get() + " (" + e.getMessage() + "); allowed: a free port of this machine");
        }
    }
}
