package io.github.optassign.model;

import java.util.Arrays;
import java.util.Locale;

/** How the restore rate of a client is known; answers carry the names in lower case. */
public enum Evidence {
    /** No rate is known. */
    NONE,
    /** The client had finished at each rebalance, so the rate is a guess from a lower bound. */
    BOUND,
    /** The rate was measured, but the last two measurements differ, or there is only one. */
    ONCE,
    /** The last two measurements agree. */
    STEADY;

    /** Returns the evidence of this name in lower case, or {@link #ONCE} if there is none of that name. */
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
