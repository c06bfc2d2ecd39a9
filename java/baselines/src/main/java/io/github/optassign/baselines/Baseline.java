package io.github.optassign.baselines;

import java.util.List;
import java.util.Map;

/** One of Kafka's assignors. */
interface Baseline {
    /** By the names used in requests and on the command line. */
    Map<String, Baseline> BY_NAME = Map.of(
            "high-availability", new HighAvailability(),
            "sticky", new Sticky(),
            "broker-sticky", new BrokerSticky());

    /** Builds everything that Kafka's code would be handed, anew: its classes write into what they are given. */
    Rebalance prepare(Application application);

    /** What the class does not take into account of this snapshot, in sentences for the user. */
    List<String> notes(Application application);

    /** The baseline of that name. IllegalArgumentException, with what is allowed, if there is none. */
    static Baseline named(String name) {
        Baseline found = name == null ? null : BY_NAME.get(name);
        if (found == null) {
            List<String> allowed = BY_NAME.keySet().stream().sorted().toList();
            throw new IllegalArgumentException("assignor: found " + name + "; allowed: " + String.join(", ", allowed));
        }
        return found;
    }

    /** One rebalance, ready to be called once. */
    interface Rebalance {
        /** Kafka's call, and nothing else: this is what is timed. */
        void assign();

        /** What it decided. */
        Answer answer();
    }
}
