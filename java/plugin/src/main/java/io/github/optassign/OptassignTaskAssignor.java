package io.github.optassign;

import io.github.optassign.config.KafkaConfigs;
import io.github.optassign.config.PluginConfig;
import io.github.optassign.endpoint.Mode;
import io.github.optassign.learn.Memory;
import io.github.optassign.metrics.AssignorMetrics;
import io.github.optassign.reports.Reporter;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.shadow.ShadowAssignor;
import io.github.optassign.streams.ApplicationAdmin;
import io.github.optassign.streams.StreamsLastResort;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.TaskAssignmentException;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Kafka Streams task assignor (KIP-924) that assigns tasks itself or, if {@code optassign.url} is set, asks the
 * optassign service for each assignment.
 *
 * <pre>
 * task.assignor.class=io.github.optassign.OptassignTaskAssignor
 * optassign.url=http://127.0.0.1:8924
 * </pre>
 *
 * <p>The application keeps running after any failure of the plug-in or the service. If the service gives no valid
 * answer, or the configuration is invalid, the plug-in assigns tasks itself
 * ({@link io.github.optassign.planner.RebalancePlanner}) and logs the reason in one line of level WARN.
 * {@link #configure} and {@link #assign} catch all other exceptions, since Kafka would end the leader's thread, and
 * then the next leader's. Only errors that leave the JVM unusable, such as an OutOfMemoryError, are rethrown.
 *
 * <p>The assignor works under {@code group.protocol=classic}; {@code group.protocol=streams} silently ignores it.
 */
public final class OptassignTaskAssignor implements TaskAssignor {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);
    /** A text, since Kafka's enum of protocols does not exist before Kafka Streams 4.1. */
    private static final String STREAMS_PROTOCOL = "streams";

    private PluginConfig config;
    /** The assignor of the group in shadow mode; null if the planner is chosen, or in active mode. */
    private ShadowAssignor shadow;
    /** The admin client for questions to the broker. */
    private ApplicationAdmin admin = new ApplicationAdmin(Map.of());
    /** The reason why the service cannot be asked; null if it can. */
    private String problem = "found no configuration; allowed: configure, then assign";

    private String application = "unknown";
    /** The outcome that {@link #assign} returned and Kafka has not yet confirmed; null if there is none. */
    private Outcome pending;

    /** Creates an assignor without a configuration. Kafka creates a new assignor for every rebalance. */
    public OptassignTaskAssignor() {}

    /**
     * Checks a configuration, so that an application can fail at its start. {@link #configure} cannot fail, since it
     * runs inside a rebalance.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @throws ConfigException if the configuration is invalid; names the key, the value and the allowed values
     */
    public static void check(Map<?, ?> configs) {
        Map<String, Object> named = new HashMap<>();
        configs.forEach((key, value) -> {
            if (!(key instanceof String name)) {
                throw new ConfigException("Found the key " + key + "; allowed: texts");
            }
            named.put(name, value);
        });
        PluginConfig config = PluginConfig.of(named);
        String ownClass = OptassignTaskAssignor.class.getName();
        Object assignor = named.get(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG);
        if (!ownClass.equals(assignor)) {
            String found = assignor == null ? "nothing, so Kafka's default would assign" : assignor.toString();
            throw new ConfigException("Invalid value for configuration " + StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG
                    + ": found " + found + "; allowed: the text " + ownClass);
        }
        Object protocol = named.get(StreamsConfig.GROUP_PROTOCOL_CONFIG);
        if (protocol != null && STREAMS_PROTOCOL.equalsIgnoreCase(protocol.toString())) {
            throw new ConfigException(
                    StreamsConfig.GROUP_PROTOCOL_CONFIG,
                    protocol,
                    "allowed: classic; Kafka ignores task.assignor.class under the streams protocol");
        }
        KafkaConfigs.check(named);
        if (config.mode() == Mode.SHADOW) {
            ShadowAssignor.checkReachable(config);
        }
        LOG.info(
                "optassign: application={} check passed: {}; the leader of the group logs one line per rebalance, "
                        + "the next when an instance joins or leaves",
                PluginConfig.findApplication(named),
                config.describe());
    }

    /**
     * Reads the application's configuration. An invalid configuration is logged once, and the planner answers. Throws
     * no exception, only errors that leave the JVM unusable.
     */
    @Override
    public void configure(Map<String, ?> configs) {
        try {
            application = PluginConfig.findApplication(configs);
            config = PluginConfig.forRebalance(configs);
            if (!config.unknown().isEmpty() && RebalanceLog.isNew(application + config.unknown())) {
                LOG.warn("optassign: application={} {}; ignored", application, config.describeUnknown());
            }
            if (!config.unused().isEmpty() && RebalanceLog.isNew(application + config.unused())) {
                LOG.warn("optassign: application={} {}; ignored", application, config.describeUnused());
            }
            if (!config.shortened().isEmpty() && RebalanceLog.isNew(application + config.shortened())) {
                LOG.warn("optassign: application={} {}; the allowed value is used", application, config.shortened());
            }
            shadow = config.mode() == Mode.SHADOW ? ShadowAssignor.create(config, configs) : null;
            admin = new ApplicationAdmin(configs);
            problem = null;
            if (config.hasService() && RebalanceLog.isNew(application + " configured " + config.describe())) {
                LOG.info(
                        "optassign: application={} configured: {}; the leader of the group logs one line per rebalance",
                        application,
                        config.describe());
            }
            if (!config.hasService() && RebalanceLog.isNew(application + " has no service")) {
                LOG.info(
                        "optassign: application={} no optassign.url: the planner in this JVM answers every rebalance, by rules "
                                + "R1 to R6; the service would add plans proven optimal, memory across leaders, "
                                + "recordings and the operator's page",
                        application);
            }
        } catch (Throwable e) {
            rethrowFatal(e);
            shadow = null;
            problem = "configuration: "
                    + ServiceFailure.toOneLine(e.getMessage() == null ? e.toString() : e.getMessage());
            config = findConfigWithoutOwnKeys(configs, problem);
            if (RebalanceLog.isNew(problem)) {
                String effect = config == null
                        ? problem + "; the service is not asked until this is corrected"
                        : config.ignored() + " until this is corrected";
                LOG.error("optassign: application={} {}", application, effect);
            }
            if (config != null) {
                problem = null; // without a service, an invalid key is no failure of the service
            }
        }
    }

    /**
     * Returns the configuration without optassign's keys, or null if a service is configured or Kafka's keys are
     * invalid.
     */
    private static PluginConfig findConfigWithoutOwnKeys(Map<String, ?> configs, String problem) {
        try {
            return PluginConfig.withoutOwnKeys(configs, problem);
        } catch (ConfigException e) {
            return null;
        }
    }

    /**
     * Returns the clients of every task's active, standbys and warm-ups, from the service if one is configured,
     * otherwise from the planner.
     *
     * @throws TaskAssignmentException if Kafka cannot compute lags; KIP-924 asks assignors to pass this exception on
     */
    @Override
    public TaskAssignment assign(ApplicationState state) {
        pending = null;
        try {
            Rebalance rebalance = new Rebalance(state, application, config, shadow, admin, Memory.of(application));
            pending = rebalance.assign(problem);
            return pending.assignment();
        } catch (TaskAssignmentException e) {
            throw e;
        } catch (Throwable e) {
            rethrowFatal(e);
            LOG.warn(
                    "optassign: application={} fallback: the planner failed, which is a bug; every task stays on its owner or "
                            + "moves to a client that may have its state, without standbys",
                    application,
                    e);
            attempt("forget the answer before", () -> Memory.of(application).forget());
            attempt("count an answer", () -> AssignorMetrics.of(application).countLastResort());
            return StreamsLastResort.assign(state, Instant.now());
        }
    }

    /**
     * Remembers the answer that Kafka has accepted, counts it in the metrics, and reports it to the service if the
     * service did not decide it.
     */
    @Override
    public void onAssignmentComputed(
            GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {
        Outcome outcome = pending;
        pending = null;
        if (shadow != null) {
            attempt("tell the assignor in shadow", () -> shadow.onAssignmentComputed(assignment, subscription, error));
        }
        if (error != AssignmentError.NONE) {
            LOG.error("optassign: application={} Kafka refused the answer: {}", application, error);
            attempt("count an answer", () -> AssignorMetrics.of(application).countRefused());
        } else if (outcome != null && outcome.toRemember() != null) {
            attempt(
                    "remember the answer",
                    () -> Memory.of(application).remember(outcome.toRemember(), outcome.withoutProgress()));
            attempt("count an answer", () -> AssignorMetrics.of(application).count(outcome.figures()));
            if (outcome.report() != null) {
                attempt("report an answer", () -> Reporter.send(outcome.report(), config));
            }
        }
    }

    /** Does something after the answer. A failure is logged, since Kafka would end the leader's thread. */
    private void attempt(String what, Runnable step) {
        try {
            step.run();
        } catch (Throwable e) {
            LOG.warn("optassign: application={} failed to {}: {}", application, what, describeSurvived(e));
        }
    }

    /**
     * Describes in one line a failure after which the planner answers. Lack of memory or threads is such a failure,
     * since the planner needs little of either. Rethrows other errors that leave the JVM unusable.
     */
    static String describeSurvived(Throwable e) {
        if (!(e instanceof OutOfMemoryError)) {
            rethrowFatal(e);
        }
        return ServiceFailure.toOneLine(e.toString());
    }

    /** Rethrows errors that leave the JVM unusable. A StackOverflowError does not. */
    static void rethrowFatal(Throwable e) {
        if (e instanceof VirtualMachineError fatal && !(e instanceof StackOverflowError)) {
            throw fatal;
        }
    }
}
