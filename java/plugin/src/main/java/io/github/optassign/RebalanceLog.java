package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Measures;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.ServiceFailure;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of one rebalance: one line, and another if the service or the shadow assignor failed. */
final class RebalanceLog {
    /** The number of remarks remembered so that each is logged once. The memory of the process stays bounded. */
    private static final int REMEMBERED_LINES = 1_000;

    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);
    private static final String UNWEIGHED = ", by numbers of tasks, not by their weights";
    /** The messages that have been logged and are not repeated in every rebalance. */
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    private final long start = System.nanoTime();
    private final String application;
    /** The configuration; null if the service cannot be asked. */
    private final PluginConfig config;
    /** The time from the start until the service has answered or failed, ms. */
    private long askedMs;
    /** The time between the request to the service and its answer, ms; -1 if there is no answer. */
    private long roundTripMs = -1;

    RebalanceLog(String application, PluginConfig config) {
        this.application = application;
        this.config = config;
    }

    /** Returns whether a message has not been logged yet, and notes it as logged. */
    static boolean isNew(String text) {
        if (LOGGED.size() > REMEMBERED_LINES) {
            LOGGED.clear();
        }
        return LOGGED.add(text);
    }

    /** Returns the start of the rebalance, as of System.nanoTime. */
    long start() {
        return start;
    }

    void noteAsked() {
        askedMs = elapsedMs();
    }

    void noteRoundTrip(long sent) {
        roundTripMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent);
    }

    /** Logs a warning unless an earlier rebalance has logged it. */
    void warnOnce(String message) {
        if (isNew(application + " " + message)) {
            LOG.warn("optassign: application={} {}", application, ServiceFailure.toOneLine(message));
        }
    }

    void warn(String message) {
        LOG.warn("optassign: application={} {}", application, message);
    }

    /**
     * Logs a decision, and the failure that led to it if there was one.
     *
     * @param original the answer as its assignor gave it
     * @param reasons the log fields on the follow-up and the rebalance
     * @param failure the failure of the answerer that should have decided, or null if there was none
     */
    void logDecision(Snapshot snapshot, CheckedAnswer answer, Answer original, String failure, String reasons) {
        boolean isShadow = config != null && config.mode() == Mode.SHADOW;
        Measures measures = Measures.of(snapshot, answer.placement());
        if (failure != null) {
            String asked = config == null ? "" : isShadow ? "shadow: " : config.assignUri() + " ";
            LOG.warn(
                    "optassign: application={} fallback: {}{}, after {} ms; answered by rules R1 to R6{}: active_moved={} "
                            + "warmups={} followup_ms={}",
                    application,
                    asked,
                    failure,
                    askedMs,
                    config != null && config.options().isAnyTaskWeighed() ? UNWEIGHED : "",
                    measures.activeMoved(),
                    measures.warmups(),
                    orNone(answer.firstFollowupMs()));
        }
        LOG.info(
                "optassign: application={} {}tasks={} clients={} answered_by={} active_moved={} warmups={} followup_ms={} "
                        + "total_ms={} round_trip_ms={} {}{}",
                application,
                isShadow ? "shadow: " : "",
                snapshot.taskCount(),
                snapshot.clientCount(),
                ServiceFailure.toOneLine(original.assignor()),
                measures.activeMoved(),
                measures.warmups(),
                orNone(answer.firstFollowupMs()),
                elapsedMs(),
                orNone(roundTripMs),
                reasons,
                original.detail().isEmpty() ? "" : " why=" + ServiceFailure.toOneLine(original.detail()));
    }

    private long elapsedMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private static String orNone(long value) {
        return value < 0 ? "none" : Long.toString(value);
    }
}
