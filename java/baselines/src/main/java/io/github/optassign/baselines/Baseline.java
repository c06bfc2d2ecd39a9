package io.github.optassign.baselines;

import io.github.optassign.baselines.broker.Sticky43;
import io.github.optassign.baselines.broker.Sticky44;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.AppInfoParser;

/** An assignor of Kafka that is called on snapshots. */
public interface Baseline {
    /** All baselines, by their names in requests and on the command line. */
    Map<String, Baseline> BY_NAME = Map.of(
            "high-availability", new HighAvailability(),
            "sticky", new Sticky(),
            "broker-sticky", new Sticky43(),
            "broker-sticky-4.4", new Sticky44());

    /** Prepares one call of Kafka's class. Each call gets newly built arguments, since Kafka's classes change them. */
    Rebalance prepare(BaselineApplication application);

    /** Returns notes for the user on the parts of the snapshot that the class ignores. */
    List<String> notes(BaselineApplication application);

    /** Returns the Kafka release of the class. */
    default String version() {
        return AppInfoParser.getVersion();
    }

    /**
     * Returns the baseline of a name.
     *
     * @throws IllegalArgumentException if no baseline has this name; the message lists the allowed names
     */
    static Baseline find(String name) {
        Baseline found = name == null ? null : BY_NAME.get(name);
        if (found == null) {
            List<String> allowed = BY_NAME.keySet().stream().sorted().toList();
            throw new IllegalArgumentException("assignor: found " + name + "; allowed: " + String.join(", ", allowed));
        }
        return found;
    }

    /** A prepared rebalance, to be called once. */
    interface Rebalance {
        /** Calls Kafka's class and does nothing more, so that only the call is timed. */
        void assign();

        /** Returns the answer of Kafka's class. */
        BaselineAnswer answer();
    }
}
