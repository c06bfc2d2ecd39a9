package io.github.optassign.progress;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.optassign.config.PluginConfig;
import io.github.optassign.policy.ClientPolicy;
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
 * Tells the service every few seconds how far the copies here are, as long as one of them is behind, and once more when
 * none is. Its thread, a daemon, ends then.
 */
public final class ProgressSender {
    /** A service that does not know the page: it is older. */
    private static final int NOT_FOUND = 404;

    private static final Logger LOG = LoggerFactory.getLogger(ProgressSender.class);

    private final PluginConfig config;
    private final String application;
    private final String instance;
    /** Whether a thread is at work. */
    private boolean working;
    /** Whether the service does not take what it is told, for good. */
    private volatile boolean useless;
    /** Whether the last attempt failed, which has been logged. */
    private boolean failing;

    public ProgressSender(PluginConfig config, String application, String instance) {
        this.config = config;
        this.application = application;
        this.instance = instance;
    }

    /** Offsets by which a copy may be behind: {@code acceptable.recovery.lag}. */
    long mostLag() {
        return config.acceptableRecoveryLag();
    }

    /** Begins to tell of copies, unless that is under way. Never waits, never throws. */
    void wake(RestoringCopies copies) {
        synchronized (this) {
            if (working || useless) {
                return;
            }
            working = true;
        }
        Thread thread = new Thread(() -> work(copies), "optassign-progress");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            rest(); // no thread is to be had: a later batch tries again
        }
    }

    private synchronized void rest() {
        working = false;
    }

    private void work(RestoringCopies copies) {
        long pauseMs = ClientPolicy.PROGRESS_FIRST_MS;
        try {
            do {
                TimeUnit.MILLISECONDS.sleep(pauseMs);
                pauseMs = attempt(copies.list(), pauseMs);
            } while (!useless && copies.areBehind(mostLag()));
            if (!useless) {
                attempt(copies.list(), pauseMs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // it ends
        } finally {
            rest();
        }
    }

    /** Tells the service once; returns the pause before the next time. */
    private long attempt(List<RestoringCopies.Progress> copies, long pauseMs) {
        String problem;
        try {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ClientPolicy.PROGRESS_ATTEMPT_MS);
            ServiceClient.ReportReply reply = new ServiceClient(config).tellProgress(write(copies), deadline);
            if (reply.status() == 200) {
                failing = false;
                return readPauseMs(reply.body());
            }
            useless = reply.status() == NOT_FOUND;
            problem = "status " + reply.status() + " " + reply.body();
        } catch (ServiceFailure e) {
            problem = e.getMessage();
        } catch (Throwable e) {
            problem = e.toString(); // to show progress is worth no thread of the application
        }
        if (!failing) {
            failing = true;
            LOG.warn(
                    "optassign: application={} progress: {} {}; its page shows what the last rebalance found",
                    application,
                    config.progressUri(),
                    ServiceFailure.toOneLine(problem));
        }
        return Math.min(ClientPolicy.PROGRESS_PAUSE_MS, 2 * Math.max(ServicePolicy.PROGRESS_EVERY_MS, pauseMs));
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

    /** Reads after how long the service wants to be told again. */
    private static long readPauseMs(String body) {
        String digits = body.replaceAll("(?s).*\"next_ms\"\\s*:\\s*(\\d{1,9}).*", "$1");
        long ms = digits.matches("\\d{1,9}") ? Long.parseLong(digits) : ServicePolicy.PROGRESS_EVERY_MS;
        return Math.max(ClientPolicy.PROGRESS_FIRST_MS, Math.min(ms, ClientPolicy.PROGRESS_PAUSE_MS));
    }
}
