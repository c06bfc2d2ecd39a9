package io.github.optassign.policy;

/** The plug-in and its client of the service (docs/reference/configuration.md). */
public final class ClientPolicy {
    /** The default time-out of the plug-in. [ms] */
    public static final long PLUGIN_TIMEOUT_MS = 2_000;
    /** One part in this many of the time-out is the broker's for telling end offsets. [times] */
    public static final int SHARE_OF_ENDS = 4;
    /** The number of remarks of the log that are remembered, so that each is written once. [lines] */
    public static final int REMEMBERED_LINES = 1_000;
    /** The number of reports that wait for the service. [answers] */
    public static final int WAITING_REPORTS = 256;
    /** The size of the reports that wait. [bytes] */
    public static final int WAITING_BYTES = 33_554_432;
    /** The first pause between two attempts to reach the service with a report or a request for an opinion. [ms] */
    public static final long FIRST_PAUSE_MS = 500;
    /** The longest such pause. [ms] */
    public static final long LONGEST_PAUSE_MS = 30_000;
    /**
     * The time without a new report after which the thread that sends reports ends; the next report starts it again.
     * [ms]
     */
    public static final long REPORTS_REST_MS = 3_600_000;
    /** The time that one attempt to send a report may take. [ms] */
    public static final long REPORT_MS = 90_000;
    /** The longest time until the JDK's pool has made the MBean of an application. [ms] */
    public static final long MAKE_BEAN_MS = 1_000;
    /** The number of groups that have metrics of their own. [entries] */
    public static final int MEASURED_GROUPS = 256;
    /** One part in this many of the time-out is kept for the way back and the check, within the next two. [times] */
    public static final int WAY_BACK_PARTS = 10;
    /** The least time that is kept so. [ms] */
    public static final long WAY_BACK_LEAST_MS = 30;
    /** The greatest time that is kept so. [ms] */
    public static final long WAY_BACK_MOST_MS = 200;
    /** Clients that the service sends away come back up to one part in this many of the pause later. [times] */
    public static final int SPREAD_PARTS = 4;
    /** The first pause between two looks whether a call has ended. [ms] */
    public static final long FIRST_LOOK_MS = 10;
    /** The session's time-out in time-outs of the plug-in, at least. [times] */
    public static final double TIMEOUTS_PER_SESSION = 1.5;
    /** The longest time between two polls in time-outs of the plug-in, at least. [times] */
    public static final int TIMEOUTS_PER_POLL = 4;
    /** The time-out of a request in time-outs of the plug-in, at least. [times] */
    public static final int TIMEOUTS_PER_REQUEST = 2;
    /** The size that an answer may have for each client and each copy, apart from their names. [bytes] */
    public static final int ANSWER_OVERHEAD = 512;
    /** The longest text from elsewhere in one line of a log. [characters] */
    public static final int SHOWN_CHARACTERS = 300;
    /** The greatest size of a file with a token, and of a reply to a report. [bytes] */
    public static final int SMALL_TEXT = 65_536;
    /** The least time that it takes to ask and to be answered. [ms] */
    public static final long LEAST_CALL_MS = 50;
    /** The greatest size of an answer to any snapshot. [bytes] */
    public static final int GREATEST_ANSWER = 67_108_864;
    /** The size that an answer may have for the smallest snapshot. [bytes] */
    public static final int LEAST_ANSWER = 262_144;
    /** The longest pause between two looks whether a call has ended. [ms] */
    public static final long LONGEST_LOOK_MS = 5_000;
    /** The time until the first report on progress. [ms] */
    public static final long PROGRESS_FIRST_MS = 1_000;
    /** The longest pause after reports on progress that failed. [ms] */
    public static final long PROGRESS_PAUSE_MS = 600_000;
    /** The time that one report on progress may take. [ms] */
    public static final long PROGRESS_ATTEMPT_MS = 5_000;

    private ClientPolicy() {}
}
