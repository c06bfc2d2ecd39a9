package io.github.optassign.baselines;

import java.util.List;
import org.apache.kafka.common.utils.AppInfoParser;

/** An assignor of Kafka that is called on snapshots. */
public interface Baseline {
    /** Prepares one call of Kafka's class. Each call gets newly built arguments, since Kafka's classes change them. */
    Rebalance prepare(BaselineApplication application);

    /** Returns notes for the user on the parts of the snapshot that the class ignores. */
    List<String> notes(BaselineApplication application);

    /** Returns the Kafka release of the class. */
    default String version() {
        return AppInfoParser.getVersion();
    }

    /** A prepared rebalance, to be called once. */
    interface Rebalance {
        /** Calls Kafka's class and does nothing more, so that only the call is timed. */
        void assign();

        /** Returns the answer of Kafka's class. */
        BaselineAnswer answer();
    }
}
