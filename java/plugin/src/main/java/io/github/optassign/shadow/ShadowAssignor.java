package io.github.optassign.shadow;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.config.ShadowChoice;
import io.github.optassign.kafka.DefaultAssignor;
import io.github.optassign.model.Answer;
import io.github.optassign.streams.Racks;
import io.github.optassign.streams.StreamsGroup;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;

/** The assignor of a group in shadow mode. An object serves one rebalance, as Kafka's assignors do. */
public interface ShadowAssignor {
    /**
     * A decision.
     *
     * @param answer the answer, not yet checked
     * @param own the assignment in Kafka's types to apply unchanged, or null to convert the answer
     */
    record Decision(Answer answer, TaskAssignment own) {}

    /** Returns the name in logs and recordings. */
    String name();

    /**
     * Assigns the tasks.
     *
     * @param partitions per task its partitions; empty if racks are not used or not known
     * @throws RuntimeException if the assignor fails
     * @throws LinkageError if this Kafka Streams has other internal classes than the plug-in was built for
     */
    Decision assign(ApplicationState state, StreamsGroup group, List<List<Racks.Partition>> partitions);

    /** Passes on Kafka's call of the same name. */
    default void onAssignmentComputed(
            GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {}

    /**
     * Creates the configured assignor.
     *
     * @param configs all configs of the application
     * @return null for the plug-in's own planner
     */
    static ShadowAssignor create(PluginConfig config, Map<String, ?> configs) {
        String choice = config.shadowAssignor();
        return switch (choice) {
            case ShadowChoice.FALLBACK -> null;
            case ShadowChoice.HIGH_AVAILABILITY -> new KafkaDefault();
            case ShadowChoice.STICKY -> new NamedAssignor(choice, new StickyTaskAssignor(), configs);
            default -> {
                try {
                    yield new NamedAssignor(choice, Utils.newInstance(ShadowChoice.load(choice)), configs);
                } catch (ClassNotFoundException e) {
                    throw new IllegalStateException("the class was found when the configuration was checked", e);
                }
            }
        };
    }

    /**
     * Checks that this JVM's Kafka Streams has the configured assignor.
     *
     * @throws ConfigException if the default assignor of this version cannot be called
     */
    static void checkReachable(PluginConfig config) {
        if (!ShadowChoice.HIGH_AVAILABILITY.equals(config.shadowAssignor())) {
            return;
        }
        try {
            DefaultAssignor.checkReachable();
        } catch (LinkageError | RuntimeException e) {
            throw config.shadowAssignorError(
                    "allowed: another assignor, since the default of this Kafka Streams cannot be called: " + e);
        }
    }
}
