package io.github.optassign.metrics;

import io.github.optassign.model.Measures;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of one application in this JVM: {@code optassign:type=assignor-metrics,application-id=…}, attributes
 * named like Kafka's. In a broker, the application is the group's name in log lines.
 *
 * <p>Only the leader of a group, or the broker that coordinates it, assigns tasks. A JVM counts the rebalances that it
 * has answered, so the sum over all JVMs is that of the group.
 */
public final class AssignorMetrics {
    /**
     * The most applications with metrics. Names of groups come from members, and nothing tells a broker that a group
     * has ended, so memory needs a bound. The application whose last answer is oldest gives way to a new one; its
     * totals begin at 0 if it returns, like those of a JVM that restarts.
     */
    static final int MEASURED_GROUPS = 256;

    /** How late a follow-up is at most while this JVM leads: the alert on overdue follow-ups waits as long. */
    private static final long OVERDUE_MS = 900_000;

    private static final Logger LOG = LoggerFactory.getLogger(AssignorMetrics.class);

    /** The metrics, those of the oldest answer first. Guarded by itself. */
    private static final Map<String, AssignorMetrics> BY_APPLICATION = new LinkedHashMap<>(16, 0.75f, true);

    /** Names that need no quotes in the name of an MBean, as in Kafka's metrics. */
    private static final Pattern PLAIN = Pattern.compile("[\\w-%. \t]*");

    /** The descriptions of attributes, by name. */
    private static final Map<String, String> DESCRIPTIONS = describe();

    private final Map<String, Number> values = new ConcurrentHashMap<>();

    /** The name of the MBean; null if it could not be registered. */
    private ObjectName bean;

    private AssignorMetrics() {
        DESCRIPTIONS
                .keySet()
                .forEach(name -> values.put(name, isDouble(name) ? (Number) 0.0 : name.endsWith("-ms") ? -1L : 0L));
    }

    /**
     * Returns the metrics of an application, registered on the first call. Metrics that cannot be registered are
     * counted nevertheless; the failure is logged once.
     */
    public static AssignorMetrics of(String application) {
        synchronized (BY_APPLICATION) {
            AssignorMetrics metrics = BY_APPLICATION.computeIfAbsent(application, AssignorMetrics::register);
            if (BY_APPLICATION.size() > MEASURED_GROUPS) {
                Iterator<AssignorMetrics> oldestFirst = BY_APPLICATION.values().iterator();
                oldestFirst.next().unregister();
                oldestFirst.remove();
            }
            return metrics;
        }
    }

    private static AssignorMetrics register(String application) {
        AssignorMetrics metrics = new AssignorMetrics();
        try {
            ObjectName name = name(application);
            MetricsBean.register(name, DESCRIPTIONS, metrics.values);
            metrics.bean = name;
        } catch (JMException | RuntimeException e) {
            LOG.warn("optassign: application={} has no metrics by JMX: {}", application, e.toString());
        }
        return metrics;
    }

    private synchronized void unregister() {
        if (bean != null) {
            MetricsBean.unregister(bean);
            bean = null;
        }
    }

    /** Returns the name of an application's MBean. */
    static ObjectName name(String application) throws JMException {
        String id = PLAIN.matcher(application).matches() ? application : ObjectName.quote(application);
        return new ObjectName("optassign:type=assignor-metrics,application-id=" + id);
    }

    /** Adds a rebalance whose answer Kafka has accepted to the totals, and sets the metrics of the last rebalance. */
    public void count(RebalanceFigures figures) {
        count(figures, System.currentTimeMillis());
    }

    synchronized void count(RebalanceFigures figures, long now) {
        Measures measures = figures.measures();
        RebalanceFigures.State state = figures.state();
        boolean isFallback = figures.source() == RebalanceFigures.Source.FALLBACK;
        boolean hasLed = hasLedUntil(now);
        noteAnswer(figures.source(), now);
        add("service-failure-total", figures.failed() ? 1 : 0);
        add("migration-total", measures.activeMoved());
        long restored = measures.restoreOffsets() + state.warmupLag();
        add("restore-offsets-total", restored);
        values.put("fallback", isFallback ? 1L : 0L);
        values.put("migration-count", (long) measures.activeMoved());
        values.put("restore-lag-offsets", restored);
        values.put("warmup-count", (long) measures.warmups());
        values.put("warmup-lag-offsets", state.warmupLag());
        values.put("imbalance", measures.activeImbalance());
        values.put("task-count", (long) state.tasks());
        values.put("client-count", (long) state.clients());
        values.put("standby-wanted-count", state.standbysWanted());
        values.put("standby-caught-up-count", state.standbysCaughtUp());
        values.put("load-most", state.loadMost());
        values.put("load-least", state.loadLeast());
        values.put("followup-ms", figures.followupMs());
        values.put("time-to-target-ms", figures.targetMs());
        boolean wasSettling =
                hasLed && values.get("settling-since-timestamp-ms").longValue() >= 0;
        if (measures.warmups() == 0) {
            values.put("settling-since-timestamp-ms", -1L);
        } else if (!wasSettling) {
            values.put("settling-since-timestamp-ms", now);
        }
        publish();
    }

    /**
     * Returns whether this JVM has led the group since its last answer: otherwise that answer's follow-up is long due.
     */
    private boolean hasLedUntil(long now) {
        long asked = values.get("followup-ms").longValue();
        long since = now - values.get("last-rebalance-timestamp-ms").longValue();
        return asked < 0 || since <= asked + OVERDUE_MS;
    }

    /** Forgets since when the group settles, as another JVM has assigned it since. */
    public synchronized void forgetSettling() {
        values.put("settling-since-timestamp-ms", -1L);
    }

    /** Counts an answer of the last resort: the planner failed, or its answer was wrong. */
    public synchronized void countLastResort() {
        noteAnswer(RebalanceFigures.Source.FALLBACK, System.currentTimeMillis());
        values.put("fallback", 1L);
        publish();
    }

    private void noteAnswer(RebalanceFigures.Source source, long now) {
        add("rebalance-total", 1);
        add("answered-by-" + source.name().toLowerCase(Locale.ROOT) + "-total", 1);
        values.put("last-rebalance-timestamp-ms", now);
    }

    /** Counts an answer that Kafka refused. */
    public synchronized void countRefused() {
        add("refused-answer-total", 1);
        publish();
    }

    private void publish() {
        if (bean != null) {
            MetricsBean.write(bean, values);
        }
    }

    private void add(String name, long more) {
        values.merge(name, more, (before, added) -> before.longValue() + added.longValue());
    }

    private static boolean isDouble(String name) {
        return name.startsWith("load-");
    }

    private static Map<String, String> describe() {
        Map<String, String> names = new LinkedHashMap<>();
        names.put("rebalance-total", "Rebalances that this JVM led and whose answer Kafka accepted");
        names.put("answered-by-service-total", "Rebalances that the service answered");
        names.put("answered-by-planner-total", "Rebalances that the planner in this JVM answered, without a service");
        names.put(
                "answered-by-fallback-total",
                "Rebalances answered in place of the service, the shadow assignor or a failed planner");
        names.put("answered-by-shadow-total", "Rebalances that the assignor of shadow mode answered");
        names.put("service-failure-total", "Rebalances in which the service or the shadow assignor failed");
        names.put("refused-answer-total", "Answers that Kafka refused");
        names.put("migration-total", "Migrations of active tasks to another client");
        names.put("restore-offsets-total", "Offsets that the copies of all answers had to replay");
        names.put(
                "fallback",
                "1 if the last answer was a fallback, otherwise 0; without a service, the planner is no fallback");
        names.put("task-count", "Tasks at the last answer");
        names.put("client-count", "Clients at the last answer");
        names.put("migration-count", "Active tasks that the last answer migrated");
        names.put("restore-lag-offsets", "Offsets that the copies of the last answer have to replay");
        names.put("warmup-count", "Warm-ups of the last answer");
        names.put("warmup-lag-offsets", "Offsets that the warm-ups of the last answer have to replay");
        names.put("imbalance", "Imbalance of active tasks in the last answer; 0 if each client has its share");
        names.put("load-most", "Most active tasks of a client per thread and capacity, in the last answer");
        names.put("load-least", "Fewest active tasks of a client per thread and capacity, in the last answer");
        names.put("standby-wanted-count", "Standbys that all tasks with a changelog should have");
        names.put("standby-caught-up-count", "Standbys of the last answer that are caught up");
        names.put(
                "settling-since-timestamp-ms",
                "Time of the first answer of the present sequence with warm-ups, ms since 1970; -1 if none");
        names.put("followup-ms", "Delay of the follow-up rebalance that the last answer asks for; -1 if none");
        names.put("time-to-target-ms", "Expected time until the target assignment is reached; -1 if unknown");
        names.put("last-rebalance-timestamp-ms", "Time of the last answer, ms since 1970; -1 if none");
        return names;
    }
}
