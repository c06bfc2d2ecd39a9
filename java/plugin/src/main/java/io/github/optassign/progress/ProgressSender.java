package io.github.optassign.progress;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.config.PluginConfig;
import io.github.optassign.policy.ServicePolicy;
import io.github.optassign.service.Json;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A sender of the progress of this instance's copies. It informs the service every few seconds while a copy lags, and
 * once more when all copies have caught up. Then its daemon thread ends.
 */
public final class ProgressSender {
    /** The time until the first report on progress. Copies restored sooner need no report. */
    private static final long PROGRESS_FIRST_MS = 1_000;
    /** The longest pause after failed reports on progress. A repaired service is found within it. */
    private static final long PROGRESS_PAUSE_MS = 600_000;
    /** The time-out of one report on progress. The next report replaces a lost one. */
    private static final long PROGRESS_ATTEMPT_MS = 5_000;

    private static final Logger LOG = LoggerFactory.getLogger(ProgressSender.class);

    private final PluginConfig config;
    private final String application;
    private final String instance;
    /** Whether a thread sends progress. */
    private boolean working;
    /** Whether the service has no page for progress. */
    private volatile boolean unsupported;
    /** Whether the last attempt failed; only the first failure in a row is logged. */
    private boolean failing;

    public ProgressSender(PluginConfig config, String application, String instance) {
        this.config = config;
        this.application = application;
        this.instance = instance;
    }

    /** Returns the lag up to which a copy counts as caught up, offsets: {@code acceptable.recovery.lag}. */
    long acceptableLag() {
        return config.acceptableRecoveryLag();
    }

    /** Starts the sending thread, unless it runs or the service has no such page. Neither blocks nor throws. */
    void start(RestoringCopies copies) {
        synchronized (this) {
            if (working || unsupported) {
                return;
            }
            working = true;
        }
        Thread thread = new Thread(() -> work(copies), "optassign-progress");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            end(); // no thread is available; a later batch tries again
        }
    }

    private synchronized void end() {
        working = false;
    }

    private void work(RestoringCopies copies) {
        long pauseMs = PROGRESS_FIRST_MS;
        try {
            do {
                TimeUnit.MILLISECONDS.sleep(pauseMs);
                pauseMs = attempt(copies.list(), pauseMs);
            } while (!unsupported && copies.areBehind(acceptableLag(), System.nanoTime()));
            if (!unsupported) {
                attempt(copies.list(), pauseMs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the thread ends
        } finally {
            end();
        }
    }

    /**
     * Sends the progress once.
     *
     * @return the pause before the next attempt, ms
     */
    private long attempt(List<RestoringCopies.Progress> copies, long pauseMs) {
        String problem;
        try {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PROGRESS_ATTEMPT_MS);
            ServiceClient.ReportReply reply = new ServiceClient(config).reportProgress(write(copies), deadline);
            if (reply.status() == 200) {
                failing = false;
                return readPauseMs(reply.body());
            }
            unsupported = reply.isUnknownPage();
            problem = "status " + reply.status() + " " + reply.body();
        } catch (ServiceFailure e) {
            problem = e.getMessage();
        } catch (Throwable e) {
            problem = e.toString(); // no error may end the application over a display of progress
        }
        if (!failing) {
            failing = true;
            LOG.warn(
                    "optassign: application={} progress: {} {}; its page shows the lags of the last rebalance",
                    application,
                    config.progressUri(),
                    ServiceFailure.toOneLine(problem));
        }
        return Math.min(PROGRESS_PAUSE_MS, 2 * Math.max(ServicePolicy.PROGRESS_EVERY_MS, pauseMs));
    }

    private byte[] write(List<RestoringCopies.Progress> copies) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = Json.FACTORY.createGenerator(bytes)) {
            json.writeStartObject();
            json.writeStringField("application", application);
            json.writeStringField("client", instance);
            json.writeArrayFieldStart("copies");
            for (RestoringCopies.Progress copy : copies) {
                json.writeStartObject();
                if (copy.task() != null) {
                    json.writeStringField("task", copy.task());
                }
                json.writeNumberField("partition", copy.partition());
                json.writeStringField("role", copy.active() ? "active" : "standby");
                json.writeNumberField("lag", copy.lag());
                if (copy.perSecond() >= 0) {
                    json.writeNumberField("per_second", Math.round(copy.perSecond()));
                }
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        return bytes.toByteArray();
    }

    /** Returns the pause that the service asks for, ms, within limits. */
    private static long readPauseMs(String body) {
        String digits = body.replaceAll("(?s).*\"next_ms\"\\s*:\\s*(\\d{1,9}).*", "$1");
        long ms = digits.matches("\\d{1,9}") ? Long.parseLong(digits) : ServicePolicy.PROGRESS_EVERY_MS;
        return Math.max(PROGRESS_FIRST_MS, Math.min(ms, PROGRESS_PAUSE_MS));
    }
}
