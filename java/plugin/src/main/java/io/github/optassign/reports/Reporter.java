package io.github.optassign.reports;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.policy.ClientPolicy;
import io.github.optassign.service.AppliedReport;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells a service what was applied, one report after the other, off the stream threads: again with growing pauses until
 * it is taken, so also after a while in which the service was down.
 *
 * <p>Reports that wait are kept in memory, up to {@link ClientPolicy#WAITING_REPORTS} and
 * {@link ClientPolicy#WAITING_BYTES}; then the oldest goes. The thread, a daemon, ends when there are none, and
 * {@link ClientPolicy#REPORTS_REST_MS} after the last one: the application may be closed.
 */
public final class Reporter {
    /** These say that a report will never be taken. */
    private static final Set<Integer> REFUSALS = Set.of(400, 404, 405, 413, 415);

    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    private static final ConcurrentMap<URI, Reporter> BY_PAGE = new ConcurrentHashMap<>();

    private final long firstPauseMs;
    private final long restMs;
    private final Deque<AppliedReport> waiting = new ArrayDeque<>();
    private long bytes;
    /** The latest one: its token counts. */
    private PluginConfig config;
    /** When the last report came, as of System.nanoTime. */
    private long lastSubmitted;
    /** Null: none is needed. */
    private Thread worker;
    /** Whether the last attempt failed, which has been logged. */
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

    /** Sends a report some time soon, to the service of this configuration. Never waits, never throws. */
    public static void send(AppliedReport report, PluginConfig config) {
        BY_PAGE.computeIfAbsent(
                        config.appliedUri(),
                        page -> new Reporter(ClientPolicy.FIRST_PAUSE_MS, ClientPolicy.REPORTS_REST_MS))
                .submit(report, config);
    }

    synchronized void submit(AppliedReport report, PluginConfig latest) {
        config = latest;
        lastSubmitted = System.nanoTime();
        waiting.addLast(report);
        bytes += report.size();
        while (waiting.size() > ClientPolicy.WAITING_REPORTS || bytes > ClientPolicy.WAITING_BYTES) {
            drop(waiting.getFirst(), "too many wait, or they are too large");
        }
        notifyAll(); // a sign of life: the pause is over
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
            LOG.warn("optassign: reports wait for the next one: no thread is to be had", e);
        }
    }

    private void drop(AppliedReport report, String why) {
        if (waiting.removeIf(each -> each == report)) {
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
                pauseMs = Math.min(2 * pauseMs, ClientPolicy.LONGEST_PAUSE_MS);
            }
        }
    }

    /** Ends the thread's work if no report has come for long. The next report takes the waiting ones along. */
    private synchronized boolean endIfIdle() {
        boolean isIdle = System.nanoTime() - lastSubmitted >= TimeUnit.MILLISECONDS.toNanos(restMs);
        if (isIdle) {
            worker = null;
        }
        return isIdle;
    }

    /** Sends a report once. Returns why it has to be tried again; null: it is done with. */
    private String attempt(AppliedReport report, PluginConfig current) {
        ServiceClient.ReportReply reply;
        try {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ClientPolicy.REPORT_MS);
            reply = new ServiceClient(current).report(report, deadline);
        } catch (ServiceFailure e) {
            return e.getMessage();
        } catch (Throwable e) {
            // No error must end this thread: others wait behind it.
            return ServiceFailure.toOneLine(e.toString());
        }
        if (reply.status() == 200) {
            finish(report);
            Comparison.read(reply.body()).ifPresent(comparison -> logComparison(report, comparison));
            return null;
        }
        String answer = ServiceFailure.toOneLine("status " + reply.status() + " " + reply.body());
        if (REFUSALS.contains(reply.status())) {
            synchronized (this) {
                drop(report, answer);
            }
            return null;
        }
        return answer;
    }

    private synchronized void finish(AppliedReport report) {
        if (waiting.removeIf(each -> each == report)) {
            bytes -= report.size();
        }
        if (failing) {
            failing = false;
            LOG.info(
                    "optassign: application={} report: taken, of rebalance {} ({} s ago); {} more wait",
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
                    "optassign: application={} report: {} {}; rebalance {} is reported as soon as it can be, within {} reports",
                    report.application(),
                    config.appliedUri(),
                    problem,
                    report.rebalance(),
                    ClientPolicy.WAITING_REPORTS);
        }
        try {
            wait(ms);
        } catch (InterruptedException e) {
            // No thread of the plug-in interrupts it; the pause is over.
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
