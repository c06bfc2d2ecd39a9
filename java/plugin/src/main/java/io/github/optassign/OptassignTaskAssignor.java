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
 * A Kafka Streams task assignor (KIP-924) that answers by itself or, with a second line, asks the optassign service for
 * each assignment.
 *
 * <pre>
 * task.assignor.class=io.github.optassign.OptassignTaskAssignor
 * optassign.url=http://127.0.0.1:8924
 * </pre>
 *
 * <p>The application keeps running after any failure on this side: if the service gives no answer that may be applied,
 * or the configuration is bad, the plug-in answers by itself ({@link io.github.optassign.planner.RebalancePlanner}) and
 * says why in one line of level WARN. Nothing is thrown out of {@link #configure} or {@link #assign}, since Kafka would
 * end the thread of the group's leader, and then that of the next leader. Only errors that leave the JVM unusable, such
 * as an OutOfMemoryError, are thrown on.
 *
 * <p>It works under {@code group.protocol=classic}. Under {@code group.protocol=streams} Kafka silently ignores it.
 */
public final class OptassignTaskAssignor implements TaskAssignor {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignTaskAssignor.class);
    /** Not by Kafka's enum of protocols: before Kafka Streams 4.1 there is none. */
    private static final String STREAMS_PROTOCOL = "streams";

    private PluginConfig config;
    /** Runs the group in shadow mode; null if the planner does, or in another mode. */
    private ShadowAssignor shadow;
    /** Asks the broker. */
    private ApplicationAdmin admin = new ApplicationAdmin(Map.of());
    /** The reason why the service cannot be asked; null if it can. */
    private String problem = "found no configuration; allowed: configure, then assign";

    private String application = "unknown";
    /** The outcome that Kafka has been given and has not yet taken; null if there is none. */
    private Outcome pending;

    /** Made by Kafka, anew for every rebalance. */
    public OptassignTaskAssignor() {}

    /**
     * Checks a configuration, for an application that wants to fail early: {@link #configure} cannot, as it runs inside
     * a rebalance.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @throws ConfigException with the key, what was found and what is allowed
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
        String ours = OptassignTaskAssignor.class.getName();
        Object assignor = named.get(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG);
        if (!ours.equals(assignor)) {
            String what = assignor == null ? "nothing, so Kafka's default would assign" : assignor.toString();
            throw new ConfigException("Invalid value for configuration " + StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG
                    + ": found " + what + "; allowed: the text " + ours);
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
                        + "and none is due while no instance joins or leaves",
                PluginConfig.findApplication(named),
                config.describe());
    }

    /** Takes the application's configuration. A bad one is logged once, and the fallback answers. Never throws. */
    @Override
    public void configure(Map<String, ?> configs) {
        try {
            application = PluginConfig.findApplication(configs);
            config = PluginConfig.forRebalance(configs);
            if (!config.unknown().isEmpty() && RebalanceLog.isNew(application + config.unknown())) {
                LOG.warn("optassign: application={} {}; left out", application, config.describeUnknown());
            }
            if (!config.unused().isEmpty() && RebalanceLog.isNew(application + config.unused())) {
                LOG.warn("optassign: application={} {}; left out", application, config.describeUnused());
            }
            if (!config.shortened().isEmpty() && RebalanceLog.isNew(application + config.shortened())) {
                LOG.warn("optassign: application={} {}; that is used", application, config.shortened());
            }
            shadow = config.mode() == Mode.SHADOW ? ShadowAssignor.create(config, configs) : null;
            admin = new ApplicationAdmin(configs);
            problem = null;
            if (config.hasService() && RebalanceLog.isNew(application + " configured " + config.describe())) {
                LOG.info(
                        "optassign: application={} configured: {}; whoever leads the group logs one line per rebalance",
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
                String what = config == null
                        ? problem + "; the service is not asked until this is corrected"
                        : config.ignored() + " until this is corrected";
                LOG.error("optassign: application={} {}", application, what);
            }
            if (config != null) {
                problem = null; // no service should have answered, so that this is no failure of one
            }
        }
    }

    /** Returns the configuration without optassign's keys; null if a service should answer, or other keys are bad. */
    private static PluginConfig findConfigWithoutOwnKeys(Map<String, ?> configs, String problem) {
        try {
            return PluginConfig.withoutOwnKeys(configs, problem);
        } catch (ConfigException e) {
            return null;
        }
    }

    /**
     * Answers one rebalance: by the service, if there is one, otherwise by the planner. Every task is active on one
     * client.
     *
     * @throws TaskAssignmentException where Kafka cannot compute lags: KIP-924 has an assignor throw it on, and Kafka
     *     says what follows
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
                    "optassign: application={} fallback: failed itself, which is a bug; every task stays where it is or goes "
                            + "where its state may be, without standbys",
                    application,
                    e);
            return StreamsLastResort.assign(state, Instant.now());
        }
    }

    /** Remembers the answer, now that Kafka has taken it, and has the service told of it. Never throws. */
    @Override
    public void onAssignmentComputed(
            GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {
        tellShadow(assignment, subscription, error);
        if (error == AssignmentError.NONE && pending != null && pending.toRemember() != null) {
            Memory.of(application).remember(pending.toRemember(), pending.withoutProgress());
            AssignorMetrics.of(application).count(pending.figures());
            if (pending.report() != null) {
                Reporter.send(pending.report(), config);
            }
        } else if (error != AssignmentError.NONE) {
            AssignorMetrics.of(application).countRefused();
            LOG.error("optassign: application={} Kafka refused the answer: {}", application, error);
        }
        pending = null;
    }

    private void tellShadow(GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {
        if (shadow == null) {
            return;
        }
        try {
            shadow.onAssignmentComputed(assignment, subscription, error);
        } catch (Throwable e) {
            rethrowFatal(e);
            LOG.warn("optassign: application={} shadow: {} failed after its answer", application, shadow.name(), e);
        }
    }

    /**
     * Describes in one line a failure after which the planner answers. Lack of memory or threads is among these: the
     * planner needs little of either. Throws other errors that leave the JVM unusable.
     */
    static String describeSurvived(Throwable e) {
        if (!(e instanceof OutOfMemoryError)) {
            rethrowFatal(e);
        }
        return ServiceFailure.toOneLine(e.toString());
    }

    /** Throws errors that leave the JVM unusable. A stack that was too deep does not. */
    static void rethrowFatal(Throwable e) {
        if (e instanceof VirtualMachineError fatal && !(e instanceof StackOverflowError)) {
            throw fatal;
        }
    }
}
