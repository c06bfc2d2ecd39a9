package io.github.optassign.metrics;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import org.apache.kafka.common.utils.Sanitizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of one application in this JVM: {@code optassign:type=assignor-metrics,application-id=…}, attributes
 * named as Kafka's are.
 *
 * <p>Only the leader of a group assigns, so a JVM counts the rebalances that it has led: sums over all instances are
 * those of the group.
 */
public final class AssignorMetrics implements DynamicMBean {
    private static final Logger LOG = LoggerFactory.getLogger(AssignorMetrics.class);
    private static final Map<String, AssignorMetrics> OF_APPLICATIONS = new ConcurrentHashMap<>();

    /** Attribute to its description. */
    private static final Map<String, String> DESCRIPTIONS = describe();

    private final Map<String, Long> values = new ConcurrentHashMap<>();

    private AssignorMetrics() {
        DESCRIPTIONS.keySet().forEach(name -> values.put(name, name.endsWith("-ms") ? -1L : 0L));
    }

    /**
     * The metrics of an application, registered when they are first asked for. Never throws: where they cannot be
     * registered, the log says so once, and they are counted all the same.
     */
    public static AssignorMetrics of(String application) {
        return OF_APPLICATIONS.computeIfAbsent(application, AssignorMetrics::register);
    }

    private static AssignorMetrics register(String application) {
        AssignorMetrics metrics = new AssignorMetrics();
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(metrics, name(application));
        } catch (JMException | SecurityException e) {
            LOG.warn("optassign: application={} has no metrics by JMX: {}", application, e.toString());
        }
        return metrics;
    }

    /** The name of an application's MBean. */
    static ObjectName name(String application) throws JMException {
        return new ObjectName("optassign:type=assignor-metrics,application-id=" + Sanitizer.jmxSanitize(application));
    }

    /** Counts a rebalance whose answer Kafka has taken. */
    public synchronized void count(RebalanceFigures figures) {
        add("rebalance-total", 1);
        add("answered-by-" + figures.source().name().toLowerCase(Locale.ROOT) + "-total", 1);
        add("service-failure-total", figures.failed() ? 1 : 0);
        add("migration-total", figures.migrations());
        add("restore-offsets-total", figures.restoreOffsets());
        values.put("warmup-count", (long) figures.warmups());
        values.put("warmup-lag-offsets", figures.warmupLag());
        values.put("imbalance", figures.imbalance());
        values.put("followup-ms", figures.followupMs());
        values.put("time-to-target-ms", figures.targetMs());
        values.put("last-rebalance-timestamp-ms", System.currentTimeMillis());
    }

    /** Counts an answer that Kafka refused. */
    public synchronized void countRefused() {
        add("refused-answer-total", 1);
    }

    private void add(String name, long more) {
        values.merge(name, more, Long::sum);
    }

    private static Map<String, String> describe() {
        Map<String, String> names = new LinkedHashMap<>();
        names.put("rebalance-total", "Rebalances that this JVM led and whose answer Kafka took");
        names.put("answered-by-service-total", "Of these, answered by the service");
        names.put("answered-by-planner-total", "Of these, answered by the planner in this JVM, as there is no service");
        names.put("answered-by-fallback-total", "Of these, answered by the planner in place of the service");
        names.put("answered-by-shadow-total", "Of these, answered by the assignor that runs the group in shadow mode");
        names.put("service-failure-total", "Of these, those that somebody else should have answered");
        names.put("refused-answer-total", "Answers that Kafka refused");
        names.put("migration-total", "Active tasks that were moved to another client");
        names.put("restore-offsets-total", "Offsets that the copies of all answers had to replay");
        names.put("warmup-count", "Warm-ups of the last answer");
        names.put("warmup-lag-offsets", "Offsets that these have to replay");
        names.put("imbalance", "Active tasks of clients beyond their shares, in the last answer");
        names.put("followup-ms", "Delay of the follow-up rebalance that the last answer asks for; -1: none");
        names.put("time-to-target-ms", "Likely time until the target assignment is reached; -1: not known");
        names.put("last-rebalance-timestamp-ms", "When the last answer was taken, ms since 1970; -1: none was");
        return names;
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException {
        Long value = values.get(name);
        if (value == null) {
            throw new AttributeNotFoundException("found " + name + "; allowed: " + DESCRIPTIONS.keySet());
        }
        return value;
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList found = new AttributeList();
        Arrays.stream(names)
                .filter(values::containsKey)
                .forEach(name -> found.add(new Attribute(name, values.get(name))));
        return found;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException("metrics can be read only");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] parameters, String[] signature) {
        throw new UnsupportedOperationException("metrics can be read only");
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] attributes = DESCRIPTIONS.entrySet().stream()
                .map(entry -> new MBeanAttributeInfo(
                        entry.getKey(), long.class.getName(), entry.getValue(), true, false, false))
                .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(
                AssignorMetrics.class.getName(), "Rebalances of one application", attributes, null, null, null);
    }
}
