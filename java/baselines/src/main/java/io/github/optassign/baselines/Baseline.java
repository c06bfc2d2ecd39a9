package io.github.optassign.baselines;

import io.github.optassign.baselines.broker.Sticky43;
import io.github.optassign.baselines.broker.Sticky44;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.AppInfoParser;

/** Runs one of Kafka's assignors. */
public interface Baseline {
    /** All baselines, by the names used in requests and on the command line. */
    Map<String, Baseline> BY_NAME = Map.of(
            "high-availability", new HighAvailability(),
            "sticky", new Sticky(),
            "broker-sticky", new Sticky43(),
            "broker-sticky-4.4", new Sticky44());

    /** Builds all that Kafka's code is given, anew for each call: its classes write into what they are given. */
    Rebalance prepare(BaselineApplication application);

    /** The parts of this snapshot that the class ignores, in sentences for the user. */
    List<String> notes(BaselineApplication application);

    /** The release of Kafka that the class is of. */
    default String version() {
        return AppInfoParser.getVersion();
    }

    /** Finds the baseline of that name. IllegalArgumentException, with what is allowed, if there is none. */
    static Baseline find(String name) {
        Baseline found = name == null ? null : BY_NAME.get(name);
        if (found == null) {
            List<String> allowed = BY_NAME.keySet().stream().sorted().toList();
            throw new IllegalArgumentException("assignor: found " + name + "; allowed: " + String.join(", ", allowed));
        }
        return found;
    }

    /** One rebalance, ready to be called once. */
    interface Rebalance {
        /** Makes Kafka's call and nothing more, so that only the call is timed. */
        void assign();

        /** The answer of Kafka's class. */
        BaselineAnswer answer();
    }
}
