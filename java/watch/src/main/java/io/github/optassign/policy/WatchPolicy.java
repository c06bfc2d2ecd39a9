package io.github.optassign.policy;

/** The watcher outside the broker (docs/explanation/decisions/0019-a-watcher-outside-the-broker.md). */
public final class WatchPolicy {
    /** The default time between two looks at a group. [ms] */
    public static final long INTERVAL_MS = 10_000;
    /** The default time between two looks at a group that restores. [ms] */
    public static final long QUICK_MS = 1_000;
    /** The shortest time between two looks. [ms] */
    public static final long SHORTEST_MS = 200;
    /** The shortest of the other times. [ms] */
    public static final long LEAST_WAIT_MS = 1_000;
    /** The time for which copies are waited for after the first that has caught up, unless all have. [ms] */
    public static final long DEBOUNCE_MS = 2_000;
    /** The time between two assignments that the watcher brings about, once there have been several. [ms] */
    public static final long PAUSE_MS = 10_000;
    /** The time that a group that could be better stands still before a trigger. [ms] */
    public static final long NO_PROGRESS_TIMEOUT_MS = 180_000;
    /** The time that a wrong assignment stands before a trigger. [ms] */
    public static final long BROKEN_MS = 30_000;
    /** The time that an assignment stands that members do not reach before a trigger. [ms] */
    public static final long STUCK_MS = 120_000;
    /** The number of fresh offsets after which a task is taken to restore in place. [rounds] */
    public static final int JUMP_REPORTS = 2;
    /** The time after which an unchanged offset of an active task counts, too. [ms] */
    public static final long JUMP_MS = 90_000;
    /** The longest time that a config stays changed where triggers are allowed. [ms] */
    public static final long RESTORE_CONFIG_AFTER_MS = 300_000;
    /** The greatest number of triggers and restorations of one group in an hour. [rounds] */
    public static final int MOST_PER_HOUR = 60;
    /** The greatest number of triggers without new evidence, each after twice the time of the one before. [rounds] */
    public static final int MOST_TRIES = 4;
    /** The number of pauses without a trigger after which a group has rested. [times] */
    public static final int PAUSES_OF_REST = 6;
    /** The first pause is one part in this many of a pause. [times] */
    public static final int FIRST_PART = 5;
    /** The longest time that a setting may name: a day. [ms] */
    public static final long LONGEST_MS = 86_400_000;
    /** The number of faults of an assignment that a line names. [entries] */
    public static final int MOST_FAULTS = 3;
    /** The time that the watcher takes at most to end. [ms] */
    public static final long LONGEST_END_MS = 20_000;
    /** The longest pause after looks that failed. [ms] */
    public static final long LONGEST_BACK_OFF_MS = 300_000;
    /** The first pause after a look that failed; each later one takes twice as long. [ms] */
    public static final long FIRST_BACK_OFF_MS = 5_000;
    /** The longest time until the watcher heeds that it is to stop. [ms] */
    public static final long STOP_MS = 100;
    /** The time between two looks of `--once` at the rebalance that it has triggered. [ms] */
    public static final long ONCE_LOOK_MS = 500;
    /** The greatest limit of assignments in an hour that a setting may name. [times] */
    public static final int GREATEST_PER_HOUR = 3_600;
    /** The greatest number of tries without progress that a setting may name. [times] */
    public static final int GREATEST_TRIES = 16;
    /** The time that `--once` waits until the rebalance that it has triggered is over. [ms] */
    public static final long ONCE_MS = 60_000;
    /** A look takes so much of its own time until the next. [times] */
    public static final int TIMES_REST = 4;

    private WatchPolicy() {}
}
