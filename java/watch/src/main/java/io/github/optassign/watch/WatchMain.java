package io.github.optassign.watch;

import io.github.optassign.policy.WatchPolicy;
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
 * {@code java -jar optassign-watch.jar --config admin.properties}; docs/how-to/broker.md describes it. Exit codes: 0
 * stopped, or {@code --once} has looked; 1 {@code --once} could not; 2 bad usage or properties.
 */
public final class WatchMain {
    private static final Logger LOG = LoggerFactory.getLogger(WatchMain.class);
    private static final int BROKEN = 1;
    private static final int USAGE = 2;

    private WatchMain() {}

    /** Runs until it is told to end. */
    public static void main(String[] arguments) throws InterruptedException {
        if (List.of(arguments).contains("--help")) {
            System.out.println(Settings.USAGE);
            return;
        }
        int code;
        try {
            code = run(Settings.read(List.of(arguments)));
        } catch (BadSettingsException | KafkaException e) {
            // Kafka puts what is wrong with a property into the cause.
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
            AtomicBoolean isOver = new AtomicBoolean();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(watcher, worker, isOver)));
            try {
                if (settings.isOnce()) {
                    return watcher.runOnce() ? 0 : BROKEN;
                }
                watcher.run();
            } finally {
                isOver.set(true);
            }
        } finally {
            if (server != null) {
                server.close();
            }
        }
        return 0;
    }

    /** Has the watcher put back what it has changed. A signal is how it is meant to end, so the exit code is 0 then. */
    private static void end(Watcher watcher, Thread worker, AtomicBoolean isOver) {
        if (isOver.get()) {
            return;
        }
        watcher.stop();
        try {
            worker.join(WatchPolicy.LONGEST_END_MS);
        } catch (InterruptedException e) {
            worker.interrupt();
        }
        if (isOver.get()) {
            Runtime.getRuntime().halt(0);
        }
    }

    /** Null: metrics are not asked for. */
    private static MetricsServer listen(Settings settings, Metrics metrics) throws BadSettingsException {
        if (settings.metrics().isEmpty()) {
            return null;
        }
        try {
            MetricsServer server = new MetricsServer(settings.metrics().get(), metrics);
            LOG.info("metrics on http:/{}/metrics", server.address());
            return server;
        } catch (IOException e) {
            throw new BadSettingsException("--metrics: found that nothing can listen on "
                    + settings.metrics().get() + " (" + e.getMessage() + "); allowed: a free port of this machine");
        }
    }
}
