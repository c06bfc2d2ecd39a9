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

/** Runs a group in shadow mode. Used for one rebalance, as Kafka uses assignors. */
public interface ShadowAssignor {
    /**
     * What it decided.
     *
     * @param answer not yet checked
     * @param own what Kafka is to be given; null: the answer as it is
     */
    record Decision(Answer answer, TaskAssignment own) {}

    /** Its name in log and recordings. */
    String name();

    /**
     * Assigns the tasks.
     *
     * @param partitions per task its partitions; an empty list: racks do not matter, or are not known
     * @throws RuntimeException whatever the assignor throws; a LinkageError where this Kafka is another than it was
     *     built for
     */
    Decision assign(ApplicationState state, StreamsGroup group, List<List<Racks.Partition>> partitions);

    /** Is told what Kafka is told of its answer. */
    default void onAssignmentComputed(
            GroupAssignment assignment, GroupSubscription subscription, AssignmentError error) {}

    /**
     * Makes the one that is configured.
     *
     * @param configs all configs of the application, for a class that wants them
     * @return null: the plug-in's own fallback
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
                    throw new IllegalStateException("it was there when the configuration was checked", e);
                }
            }
        };
    }

    /**
     * Checks that this JVM's Kafka Streams has what is configured.
     *
     * @throws ConfigException if it is a version whose default cannot be called
     */
    static void checkReachable(PluginConfig config) {
        if (!ShadowChoice.HIGH_AVAILABILITY.equals(config.shadowAssignor())) {
            return;
        }
        try {
            DefaultAssignor.checkReachable();
        } catch (LinkageError | RuntimeException e) {
            throw config.shadowAssignorError(
                    "allowed: another one, as this Kafka Streams' default cannot be called: " + e);
        }
    }
}
