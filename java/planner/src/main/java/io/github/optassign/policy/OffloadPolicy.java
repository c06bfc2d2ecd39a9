package io.github.optassign.policy;

/** The temporary offload of active tasks while copies restore (docs/reference/rules.md, "Temporary offload"). */
public final class OffloadPolicy {
    /** The default price of an extra move of a stateless task. [s] */
    public static final long STATELESS_S = 60;
    /** The default price of an extra move of a logged task to its caught-up standby. [s] */
    public static final long LOGGED_S = 300;
    /** The price that switches offload off; the greatest that is allowed. [s] */
    public static final long OFF_S = 1_000_000_000;

    private OffloadPolicy() {}
}
