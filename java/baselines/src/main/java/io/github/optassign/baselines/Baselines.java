package io.github.optassign.baselines;

import io.github.optassign.baselines.broker.Sticky43;
import io.github.optassign.baselines.broker.Sticky44;
import java.util.List;
import java.util.Map;

/** All baselines, by their names in requests and on the command line. */
final class Baselines {
    private static final Map<String, Baseline> BY_NAME = Map.of(
            "high-availability", new HighAvailability(),
            "sticky", new Sticky(),
            "broker-sticky", new Sticky43(),
            "broker-sticky-4.4", new Sticky44());

    private Baselines() {}

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
}
