package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Measures;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.ClientPolicy;
import io.github.optassign.service.ServiceFailure;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of one rebalance: one line, and one more if another assignor should have answered. */
final class RebalanceLog {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);
    private static final String UNWEIGHED = ", by numbers of tasks, whatever they weigh";
    /** The messages that were logged already and need no repetition in every rebalance. */
    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

    private final long start = System.nanoTime();
    private final String application;
    /** Null if the service cannot be asked. */
    private final PluginConfig config;
    /** The time until the service had answered or failed, ms. */
    private long askedMs;
    /** The time between request and answer of the service, ms; -1 if there is no answer. */
    private long roundTripMs = -1;

    RebalanceLog(String application, PluginConfig config) {
        this.application = application;
        this.config = config;
    }

    /** Returns whether a text is new, so that it is to be logged. */
    static boolean isNew(String text) {
        if (SAID.size() > ClientPolicy.REMEMBERED_LINES) {
            SAID.clear();
        }
        return SAID.add(text);
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

    /** Logs a warning that would be the same in every rebalance once. */
    void warnOnce(String what) {
        if (isNew(application + " " + what)) {
            LOG.warn("optassign: application={} {}", application, ServiceFailure.toOneLine(what));
        }
    }

    void warn(String what) {
        LOG.warn("optassign: application={} {}", application, what);
    }

    /**
     * Logs a decision.
     *
     * @param told the answer as its author gave it
     * @param reasons the reasons for the follow-up and the rebalance, and its id if the service knows it
     * @param failure the failure of the answerer that should have decided, or null if there was none
     */
    void say(Snapshot snapshot, CheckedAnswer answer, Answer told, String failure, String reasons) {
        boolean isShadow = config != null && config.mode() == Mode.SHADOW;
        Measures measures = Measures.of(snapshot, answer.placement());
        if (failure != null) {
            String whom = config == null ? "" : isShadow ? "shadow: " : config.assignUri() + " ";
            LOG.warn(
                    "optassign: application={} fallback: {}{}, after {} ms; answered by rules R1 to R6{}: active_moved={} "
                            + "warmups={} followup_ms={}",
                    application,
                    whom,
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
                ServiceFailure.toOneLine(told.assignor()),
                measures.activeMoved(),
                measures.warmups(),
                orNone(answer.firstFollowupMs()),
                elapsedMs(),
                orNone(roundTripMs),
                reasons,
                told.detail().isEmpty() ? "" : " why=" + ServiceFailure.toOneLine(told.detail()));
    }

    private long elapsedMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private static String orNone(long value) {
        return value < 0 ? "none" : Long.toString(value);
    }
}
