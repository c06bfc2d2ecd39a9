package io.github.optassign.broker.opinion;

import io.github.optassign.endpoint.Endpoint;
import io.github.optassign.learn.Breaker;
import io.github.optassign.model.Snapshot;
import io.github.optassign.service.AnswerSize;
import io.github.optassign.service.MemoryRefused;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.WrongAnswer;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue of {@link SecondOpinion}s for the service. A daemon thread sends them one after the other, and ends when the
 * queue is empty. Submitting a request neither blocks nor fails.
 *
 * <p>Only the last request of a group is sent. A failed request is repeated with growing pauses. After an invalid
 * answer or a refusal, the group's requests are dropped for a time that doubles ({@link Breaker}).
 */
public final class OpinionRequests {
    /** The most groups remembered, so that the broker's memory stays bounded. */
    public static final int MOST_GROUPS = 1_000;
    /** The most groups that wait for a second opinion. Waiting requests take memory of the broker. */
    private static final int WAITING_GROUPS = 64;
    /**
     * The most pairs of task and process of all waiting groups together. Waiting requests take memory of the broker.
     */
    private static final long WAITING_CELLS = 5_000_000;

    /** HTTP statuses with which the service would refuse the same request again: 4xx, except 408 and 429. */
    private static final Pattern REFUSAL = Pattern.compile("status 4(?!08|29).*", Pattern.DOTALL);

    private static final Logger LOG = LoggerFactory.getLogger(OpinionRequests.class);

    /** The queue of this JVM, shared since all assignors of a broker are configured alike. */
    public static final OpinionRequests SHARED = new OpinionRequests();

    private final int maxWaiting;
    private final long maxCells;
    private final long firstPauseMs;
    /** The requests by application. Guarded by {@code this}, like the fields below. */
    private final Map<String, SecondOpinion> waiting = new LinkedHashMap<>();

    private final Map<String, Breaker> breakers = new LinkedHashMap<>();
    private Endpoint endpoint;
    /** The thread that asks the service; null if none is needed. */
    private Thread worker;
    /** Whether the last attempt failed, which has been logged. */
    private boolean failing;

    public OpinionRequests() {
        this(WAITING_GROUPS, WAITING_CELLS, ServiceFailure.FIRST_PAUSE_MS);
    }

    /** Creates a queue with other limits and another first pause after a failure. Visible for testing. */
    public OpinionRequests(int maxWaiting, long maxCells, long firstPauseMs) {
        this.maxWaiting = maxWaiting;
        this.maxCells = maxCells;
        this.firstPauseMs = firstPauseMs;
    }

    /**
     * Queues a request in place of an older one of its group. Drops it if it is too large or its group pauses, and
     * drops the oldest requests if the queue is full.
     */
    public synchronized void submit(SecondOpinion opinion, Endpoint where) {
        endpoint = where;
        String application = opinion.application();
        SecondOpinion older = waiting.remove(application);
        if (older != null) {
            older.close();
        }
        if (opinion.size() > maxCells || findBreaker(application).pauseMs(System.nanoTime()) > 0) {
            opinion.close();
            return;
        }
        waiting.put(application, opinion);
        long cells = waiting.values().stream().mapToLong(SecondOpinion::size).sum();
        while (waiting.size() > maxWaiting || cells > maxCells) {
            SecondOpinion oldest = waiting.remove(waiting.keySet().iterator().next());
            cells -= oldest.size();
            oldest.close();
        }
        if (worker == null) {
            startWorker();
        }
    }

    private void startWorker() {
        Thread thread = new Thread(this::work, "optassign-service");
        thread.setDaemon(true);
        try {
            thread.start();
            worker = thread;
        } catch (OutOfMemoryError e) {
            LOG.warn("optassign: no thread is available; the service is asked after the next assignment", e);
        }
    }

    private Breaker findBreaker(String application) {
        if (breakers.size() >= MOST_GROUPS && !breakers.containsKey(application)) {
            breakers.remove(breakers.keySet().iterator().next());
        }
        return breakers.computeIfAbsent(application, name -> new Breaker());
    }

    private void work() {
        long pauseMs = firstPauseMs;
        while (true) {
            SecondOpinion opinion;
            Endpoint where;
            Breaker breaker;
            synchronized (this) {
                if (waiting.isEmpty()) {
                    worker = null;
                    return;
                }
                opinion = waiting.values().iterator().next();
                where = endpoint;
                breaker = findBreaker(opinion.application());
            }
            if (attempt(opinion, where, breaker)) {
                pauseMs = firstPauseMs;
                finish(opinion);
            } else {
                putLast(opinion);
                pause(pauseMs);
                pauseMs = Math.min(2 * pauseMs, ServiceFailure.LONGEST_PAUSE_MS);
            }
        }
    }

    /**
     * Asks the service once. Throws no exception, since other requests wait.
     *
     * @return false if the request has to be repeated
     */
    private boolean attempt(SecondOpinion opinion, Endpoint where, Breaker breaker) {
        try {
            String result = ask(opinion, where);
            breaker.noteRight();
            noteSuccess();
            if (result != null) {
                LOG.info("optassign: group={} the service has {}", opinion.application(), result);
            }
            return true;
        } catch (WrongAnswer e) {
            noteWrong(opinion, breaker, e.getMessage());
            return true;
        } catch (ServiceFailure e) {
            if (REFUSAL.matcher(e.getMessage()).matches()) {
                noteWrong(opinion, breaker, e.getMessage());
                return true;
            }
            noteFailure(opinion, where, e.getMessage());
        } catch (Throwable e) {
            noteFailure(opinion, where, ServiceFailure.toOneLine(e.toString()));
        }
        return !opinion.isOpen();
    }

    private static String ask(SecondOpinion opinion, Endpoint where) throws ServiceFailure, IOException {
        Snapshot snapshot = opinion.snapshot();
        if (snapshot == null) {
            return null;
        }
        ServiceClient client = new ServiceClient(where);
        String id = UUID.randomUUID().toString();
        int limit = AnswerSize.limitBytes(snapshot);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(where.timeoutMs());
        ServiceClient.Reply reply;
        try {
            byte[] body = opinion.toBody(true);
            if (body == null) {
                return null;
            }
            reply = client.ask(id, body, limit, opinion.rememberedAt(), deadline);
        } catch (MemoryRefused e) {
            byte[] body = opinion.toBody(false);
            if (body == null) {
                return null;
            }
            reply = client.ask(id, body, limit, -1, deadline);
        }
        return opinion.take(reply.json());
    }

    /** Lets the requests of other groups go first: the service may fail at one group alone. */
    private synchronized void putLast(SecondOpinion opinion) {
        if (waiting.remove(opinion.application(), opinion)) {
            waiting.put(opinion.application(), opinion);
        }
    }

    private synchronized void finish(SecondOpinion opinion) {
        waiting.remove(opinion.application(), opinion);
        opinion.close();
    }

    private static void noteWrong(SecondOpinion opinion, Breaker breaker, String why) {
        breaker.noteWrong(why, System.nanoTime());
        LOG.warn(
                "optassign: group={} the service is left alone for a while: {}",
                opinion.application(),
                breaker.describe());
    }

    // Logging happens outside of the lock: the coordinator's thread must not wait for a disk.

    private void noteSuccess() {
        if (setFailing(false)) {
            LOG.info("optassign: the service answers again");
        }
    }

    private void noteFailure(SecondOpinion opinion, Endpoint where, String why) {
        if (setFailing(true)) {
            LOG.warn(
                    "optassign: group={} {} {}; the planner's plans stand, and it is asked again with growing pauses",
                    opinion.application(),
                    where.assignUri(),
                    why);
        }
    }

    /**
     * Sets whether the last attempt failed.
     *
     * @return whether that has changed
     */
    private synchronized boolean setFailing(boolean now) {
        boolean isNew = failing != now;
        failing = now;
        return isNew;
    }

    private synchronized void pause(long ms) {
        try {
            wait(ms);
        } catch (InterruptedException e) {
            // No thread of the plug-in interrupts this thread; an interrupt only ends the pause.
        }
    }

    /** Returns whether no request waits for an answer. Visible for testing. */
    public synchronized boolean isIdle() {
        return worker == null;
    }
}
