package io.github.optassign.model;

import java.util.Arrays;
import java.util.Locale;

/** The evidence for a client's restore rate; answers carry the names in lower case. */
public enum Evidence {
    /** No rate is known. */
    NONE,
    /** The client was caught up at each rebalance, so the rate is an estimate from a lower bound. */
    BOUND,
    /** The rate was measured only once, or the last measurement differs from the mean before it. */
    ONCE,
    /** The last measurement agrees with the mean before it. */
    STEADY;

    /** Returns the constant with this name in lower case, or {@link #ONCE} if the name is unknown. */
    public static Evidence of(String name) {
        return Arrays.stream(values())
                .filter(evidence -> evidence.toString().equals(name))
                .findFirst()
                .orElse(ONCE);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
