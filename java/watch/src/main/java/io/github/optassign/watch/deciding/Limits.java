package io.github.optassign.watch.deciding;

/**
 * How soon and how often groups may be triggered.
 *
 * @param acceptableLag offsets; as in the broker
 * @param pauseMs at least so long between two assignments that we bring about
 * @param standingMs a group that could be better, and in which nothing gets nearer, stands for so long before a trigger
 * @param brokenMs an assignment that is wrong stands for so long before a trigger
 * @param stuckMs one that members do not reach stands for so long
 * @param touchedMs a config is never left touched for longer where triggers are allowed
 * @param mostPerHour triggers and restorations, of one group
 * @param mostTries triggers without new evidence, each after twice the time of the one before
 */
public record Limits(
        long acceptableLag,
        long pauseMs,
        long standingMs,
        long brokenMs,
        long stuckMs,
        long touchedMs,
        int mostPerHour,
        int mostTries) {
    public static final Limits DEFAULT = new Limits(10_000, 10_000, 180_000, 30_000, 120_000, 300_000, 60, 4);
    private static final long NEVER_MS = 1L << 50;

    /** For who looks only once: what can be seen at a glance counts, and nothing that takes time. */
    public Limits once() {
        return new Limits(acceptableLag, 0, NEVER_MS, 0, NEVER_MS, NEVER_MS, mostPerHour, mostTries);
    }
}
