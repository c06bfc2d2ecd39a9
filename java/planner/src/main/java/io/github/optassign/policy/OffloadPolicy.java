package io.github.optassign.policy;

/**
 * The temporary offload of active tasks while copies restore (docs/reference/rules.md, "Temporary offload"). Made from
 * policy.toml.
 */
public final class OffloadPolicy {
    /**
     * The default price of an extra move of a stateless task; a stage of warm-ups has to save as much. A stateless task
     * moves within a rebalance, but its records wait until then. [s]
     */
    public static final long STATELESS_S = 60;

    /**
     * The default price of an extra move of a logged task to its caught-up standby. The move is paid twice: there and
     * back. [s]
     */
    public static final long LOGGED_S = 300;

    /**
     * The price at which no task is offloaded, and none stays where it was offloaded to; the greatest that is allowed.
     * No imbalance lasts for thirty years. [s]
     */
    public static final long OFF_S = 1_000_000_000;

    private OffloadPolicy() {}
}
