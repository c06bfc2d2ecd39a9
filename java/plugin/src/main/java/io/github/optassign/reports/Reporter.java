package io.github.optassign.reports;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue of an application's reports on applied answers, sent to a service one after the other, off the stream
 * threads. A report is repeated with growing pauses until the service accepts it, so reports survive an outage of the
 * service.
 *
 * <p>Waiting reports are kept in memory, up to {@link #WAITING_REPORTS} and {@link #WAITING_BYTES}; then the oldest is
 * dropped. The daemon thread ends when no report waits, or {@link #REPORTS_REST_MS} after the last one, since the
 * application may be closed.
 */
public final class Reporter {
    /** The most reports that wait for the service. They are small, and an hour of failures has fewer. */
    static final int WAITING_REPORTS = 256;
    /** The most bytes of waiting reports, which take memory of the application. */
    static final int WAITING_BYTES = 33_554_432;
    /**
     * The time without a new report after which the sending thread ends; the next report starts it again. A closed
     * application sends no reports, so its class loader becomes free.
     */
    static final long REPORTS_REST_MS = 3_600_000;
    /**
     * The time-out of one attempt to send a report. The service handles earlier reports first, and computes its own
     * answer.
     */
    private static final long REPORT_MS = 90_000;

    /** HTTP statuses of a report that will never be accepted, like 404 of the service itself. */
    private static final Set<Integer> REFUSALS = Set.of(400, 405, 413, 415);

    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    /** Page and application → its reports. Each application may have a token of its own, and may be refused alone. */
    private static final ConcurrentMap<String, Reporter> BY_SENDER = new ConcurrentHashMap<>();

    private final long firstPauseMs;
    private final long restMs;
    private final Deque<AppliedReport> waiting = new ArrayDeque<>();
    private long bytes;
    /** The latest configuration, whose token is used. */
    private PluginConfig config;
    /** The time of the last report, as of System.nanoTime. */
    private long lastSubmitted;
    /** The thread that sends reports; null if none is needed. */
    private Thread worker;
    /** Whether the last attempt failed; only the first failure in a row is logged. */
    private boolean failing;

    /**
     * Creates a reporter that backs off after a failed attempt.
     *
     * @param firstPauseMs the first pause; each later one is twice as long
     * @param restMs the time without a new report after which failed attempts end
     */
    Reporter(long firstPauseMs, long restMs) {
        this.firstPauseMs = firstPauseMs;
        this.restMs = restMs;
    }

    /** Queues a report for the service of this configuration. Neither blocks nor throws. */
    public static void send(AppliedReport report, PluginConfig config) {
        BY_SENDER
                .computeIfAbsent(
                        config.appliedUri() + " " + report.application(),
                        sender -> new Reporter(ServiceFailure.FIRST_PAUSE_MS, REPORTS_REST_MS))
                .submit(report, config);
    }

    synchronized void submit(AppliedReport report, PluginConfig latest) {
        config = latest;
        lastSubmitted = System.nanoTime();
        waiting.addLast(report);
        bytes += report.size();
        while (waiting.size() > WAITING_REPORTS || bytes > WAITING_BYTES) {
            drop(waiting.getFirst(), "too many wait, or they are too large");
        }
        notifyAll(); // a new rebalance ends the pause: the service may be back
        if (worker == null && !waiting.isEmpty()) {
            startWorker();
        }
    }

    /** Returns whether a thread sends reports. Visible for testing. */
    synchronized boolean isAtWork() {
        return worker != null;
    }

    private void startWorker() {
        Thread thread = new Thread(this::work, "optassign-reports");
        thread.setDaemon(true);
        try {
            thread.start();
            worker = thread;
        } catch (OutOfMemoryError e) {
            LOG.warn("optassign: no thread is available for reports; they wait for the next report", e);
        }
    }

    private void drop(AppliedReport report, String why) {
        if (waiting.removeIf(other -> other == report)) {
            bytes -= report.size();
            LOG.warn(
                    "optassign: application={} report: dropped, so rebalance {} ({} s ago) is not recorded: {}",
                    report.application(),
                    report.rebalance(),
                    TimeUnit.MILLISECONDS.toSeconds(report.ageMs()),
                    why);
        }
    }

    private void work() {
        long pauseMs = firstPauseMs;
        while (true) {
            AppliedReport report;
            PluginConfig current;
            synchronized (this) {
                report = waiting.peekFirst();
                current = config;
                if (report == null) {
                    worker = null;
                    return;
                }
            }
            String problem = attempt(report, current);
            if (problem == null) {
                pauseMs = firstPauseMs;
            } else if (endIfIdle()) {
                return;
            } else {
                pause(pauseMs, report, problem);
                pauseMs = Math.min(2 * pauseMs, ServiceFailure.LONGEST_PAUSE_MS);
            }
        }
    }

    /** Returns whether no report came for {@code restMs}, so that the thread ends. The next report starts a new one. */
    private synchronized boolean endIfIdle() {
        boolean isIdle = System.nanoTime() - lastSubmitted >= TimeUnit.MILLISECONDS.toNanos(restMs);
        if (isIdle) {
            worker = null;
        }
        return isIdle;
    }

    /**
     * Sends a report once.
     *
     * @return the reason to try again, or null if the report is accepted or dropped
     */
    private String attempt(AppliedReport report, PluginConfig current) {
        ServiceClient.ReportReply reply;
        try {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(REPORT_MS);
            reply = new ServiceClient(current).report(report, deadline);
        } catch (ServiceFailure e) {
            return e.getMessage();
        } catch (Throwable e) {
            // No error may end this thread, since other reports wait for it.
            return ServiceFailure.toOneLine(e.toString());
        }
        if (reply.status() == 200) {
            finish(report);
            Comparison.read(reply.body()).ifPresent(comparison -> logComparison(report, comparison));
            return null;
        }
        String answer = ServiceFailure.toOneLine("status " + reply.status() + " " + reply.body());
        if (reply.isUnknownPage() || REFUSALS.contains(reply.status())) {
            synchronized (this) {
                drop(report, answer);
            }
            return null;
        }
        return answer;
    }

    private synchronized void finish(AppliedReport report) {
        if (waiting.removeIf(other -> other == report)) {
            bytes -= report.size();
        }
        if (failing) {
            failing = false;
            LOG.info(
                    "optassign: application={} report: accepted, of rebalance {} ({} s ago); {} more wait",
                    report.application(),
                    report.rebalance(),
                    TimeUnit.MILLISECONDS.toSeconds(report.ageMs()),
                    waiting.size());
        }
    }

    private synchronized void pause(long ms, AppliedReport report, String problem) {
        if (!failing) {
            failing = true;
            LOG.warn(
                    "optassign: application={} report: {} {}; rebalance {} is reported later, unless {} newer reports wait",
                    report.application(),
                    config.appliedUri(),
                    problem,
                    report.rebalance(),
                    WAITING_REPORTS);
        }
        try {
            wait(ms);
        } catch (InterruptedException e) {
            // No thread of the plug-in interrupts this thread; an interrupt only ends the pause.
        }
    }

    private static void logComparison(AppliedReport report, Comparison comparison) {
        LOG.info(
                "optassign: application={} {}: rebalance={} {}",
                report.application(),
                report.mode() == Mode.SHADOW ? "shadow" : "fallback",
                report.rebalance(),
                comparison);
    }
}
