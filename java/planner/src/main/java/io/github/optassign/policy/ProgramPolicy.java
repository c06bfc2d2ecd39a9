package io.github.optassign.policy;

/** The one model, flows and CP-SAT: how large they get and when they end (docs/explanation/model.md). */
public final class ProgramPolicy {
    /** A remembered plan may be worse by one part in this many: 2%. [times] */
    public static final int KEPT_PLAN_PARTS = 50;
    /** The number of further migrations that are worth the restoring of a mean changelog. [times] */
    public static final int MIGRATIONS_PER_CHANGELOG = 5;

    private ProgramPolicy() {}
}
