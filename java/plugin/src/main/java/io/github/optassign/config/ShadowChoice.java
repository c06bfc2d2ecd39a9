package io.github.optassign.config;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;

/** The assignor of the group in shadow mode: a name below or, with a dot, the name of a class. */
public final class ShadowChoice {
    /** Kafka Streams' default (KIP-441), named as in {@code optassign compare}. */
    public static final String HIGH_AVAILABILITY = "kafka-high-availability";

    /** The sticky assignor of Kafka Streams' public interface (KIP-924). */
    public static final String STICKY = "kafka-sticky";

    /** The planner of the plug-in. */
    public static final String FALLBACK = "fallback";

    static final String DEFAULT = HIGH_AVAILABILITY;
    static final String ALLOWED =
            HIGH_AVAILABILITY + ", " + STICKY + ", " + FALLBACK + ", or the name of a class that is a TaskAssignor";
    private static final String PLUGIN_CLASS = "io.github.optassign.OptassignTaskAssignor";

    private ShadowChoice() {}

    static void check(String name, Object value) {
        String choice = (String) value;
        if (choice.equals(HIGH_AVAILABILITY) || choice.equals(STICKY) || choice.equals(FALLBACK)) {
            return;
        }
        if (!choice.contains(".") || choice.equals(PLUGIN_CLASS)) {
            throw new ConfigException(name, value, "allowed: " + ALLOWED);
        }
        try {
            load(choice).getConstructor();
        } catch (ClassNotFoundException | NoSuchMethodException | ClassCastException | LinkageError e) {
            throw new ConfigException(name, value, "allowed: " + ALLOWED + "; found " + e);
        }
    }

    /**
     * Loads a class as Kafka Streams does.
     *
     * @throws ClassCastException if the class is no TaskAssignor
     */
    public static Class<? extends TaskAssignor> load(String className) throws ClassNotFoundException {
        return Utils.loadClass(className, TaskAssignor.class);
    }
}
