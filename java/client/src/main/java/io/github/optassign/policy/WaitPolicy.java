package io.github.optassign.policy;

/** Follow-ups that a service or the plug-in adds, delays or lets every client ask for (docs/reference/rules.md, R8). */
public final class WaitPolicy {
    /** The default time until a group at rest with a service rebalances, so that requests take effect. [ms] */
    public static final long IDLE_FOLLOWUP_MS = 600_000;
    /** The least time until a follow-up of the service after a confirmed second pass (KIP-429). [ms] */
    public static final long LEAST_AFTER_PASS_MS = 100;
    /** The longest delay of a follow-up that every client asks for; one client asks for a later one. [ms] */
    public static final long ASKED_BY_ALL_MS = 30_000;

    private WaitPolicy() {}
}
