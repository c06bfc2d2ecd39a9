package io.github.optassign.timing;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.policy.FollowupPolicy;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * How fast clients restore, from the lags of two snapshots and the time between them (docs/reference/rules.md, "The
 * follow-up"). Older measurements count half as much each time. If a client had finished by then, that is only a lower
 * bound, and more is believed. Times are those of the snapshots; clocks that go back teach nothing.
 */
public final class Rates {
    /** That are kept of what was restored: times a thousand, for a rate, and half as much again, it still is a long. */
    private static final long MOST_OFFSETS = Long.MAX_VALUE / 4_000;

    private final Snapshot snapshot;
    private final long takenAtMs;
    private final long[] offsets;
    private final long[] ms;
    private final boolean[] isLeast;
    private int looks;
    private boolean countsIdle = true;
    private long countedAtMs;

    /**
     * A copy that the last answer assigned and that was not caught up then.
     *
     * @param lag offsets left to replay then
     */
    public record Tried(int task, int client, long lag) {}

    private Rates(Snapshot snapshot, long takenAtMs) {
        this.snapshot = snapshot;
        this.takenAtMs = takenAtMs;
        offsets = new long[snapshot.clientCount()];
        ms = new long[snapshot.clientCount()];
        isLeast = new boolean[snapshot.clientCount()];
        countedAtMs = takenAtMs;
    }

    /**
     * Goes on from what the last answer knew.
     *
     * @param before null: there is no last answer, or it knew nothing of times
     * @param tried the copies by which it can be seen how fast clients have restored since
     * @param waited whether the last answer waited for any copy
     * @param askedMs after how long it asked for a follow-up; null: it did not. A group that leaves rest begins anew,
     *     with a first look that is soon
     */
    public static Rates after(
            Pace before,
            Snapshot snapshot,
            Ranks ranks,
            Timing timing,
            List<Tried> tried,
            boolean waited,
            Long askedMs) {
        Rates rates = new Rates(snapshot, timing.takenAtMs());
        if (before == null || timing.takenAtMs() < 0) {
            return rates;
        }
        before.clients().forEach((name, restored) -> {
            Integer c = snapshot.clientIndex(name);
            if (c != null) {
                rates.keep(c, restored.offsets(), restored.ms());
                rates.isLeast[c] = restored.isLeast();
            }
        });
        rates.looks = askedMs == null ? 0 : before.looks();
        long elapsedMs = timing.takenAtMs() - before.takenAtMs();
        long teachingMs = askedMs == null
                ? FollowupPolicy.LEAST_TAUGHT_MS
                : Math.min(
                        FollowupPolicy.LEAST_TAUGHT_MS,
                        Math.max(FollowupPolicy.REBALANCE_MS, askedMs + FollowupPolicy.MOMENT_MS));
        if (elapsedMs >= teachingMs && !tried.isEmpty()) {
            rates.looks = rates.learn(ranks, tried, elapsedMs) ? 0 : rates.looks + 1;
        } else if (askedMs != null && elapsedMs >= FollowupPolicy.REBALANCE_MS && !waited) {
            rates.looks++;
        }
        long sinceMs = timing.takenAtMs() - before.countedAtMs();
        rates.countsIdle = before.countedAtMs() < 0 || sinceMs < 0 || sinceMs >= FollowupPolicy.LEAST_INTERVAL_MS;
        rates.countedAtMs = rates.countsIdle ? timing.takenAtMs() : before.countedAtMs();
        return rates;
    }

    /** Brings the rates up to date; whether anything was restored. */
    private boolean learn(Ranks ranks, List<Tried> tried, long elapsedMs) {
        long[] fell = new long[offsets.length];
        boolean[] isTried = new boolean[offsets.length];
        boolean[] isDone = new boolean[offsets.length];
        Arrays.fill(isDone, true);
        boolean any = false;
        for (Tried copy : tried) {
            long less = Math.max(0, copy.lag - ranks.offsets(copy.task, copy.client));
            fell[copy.client] = add(fell[copy.client], less);
            isTried[copy.client] = true;
            isDone[copy.client] &= ranks.rank(copy.task, copy.client) == 0;
            any |= less > 0;
        }
        long busyMs = Math.max(elapsedMs - FollowupPolicy.STARTS_MS, elapsedMs / 2);
        for (int c = 0; c < fell.length; c++) {
            if (!isTried[c]) {
                continue;
            }
            if (isDone[c]) {
                boolean isFirst = offsets[c] == 0;
                isLeast[c] |= isFirst;
                if (isFirst || isFaster(fell[c], busyMs, offsets[c], ms[c])) {
                    keep(
                            c,
                            (long) (fell[c] * (isFirst ? FollowupPolicy.BELIEVED_FIRST : FollowupPolicy.BELIEVED_MORE)),
                            busyMs);
                } else {
                    keep(
                            c,
                            (long) (offsets[c]
                                    * (isLeast[c] ? FollowupPolicy.BELIEVED_MORE : FollowupPolicy.BELIEVED_MEASURED)),
                            ms[c]);
                }
            } else if (isLeast[c]) {
                keep(c, fell[c], busyMs);
                isLeast[c] = false;
            } else {
                keep(c, add(offsets[c] / 2, fell[c]), add(ms[c] / 2, busyMs));
            }
        }
        return any;
    }

    /** Keeps a rate, in numbers that are small enough: what is believed more and more has no end. */
    private void keep(int c, long restored, long inMs) {
        long number = restored;
        long time = inMs;
        while (number > MOST_OFFSETS && time > 1) {
            number /= 2;
            time /= 2;
        }
        offsets[c] = Math.min(number, MOST_OFFSETS);
        ms[c] = time;
    }

    private static boolean isFaster(long offsets, long inMs, long thanOffsets, long thanInMs) {
        BigInteger one = BigInteger.valueOf(offsets).multiply(BigInteger.valueOf(thanInMs));
        return one.compareTo(BigInteger.valueOf(thanOffsets).multiply(BigInteger.valueOf(inMs))) > 0;
    }

    private static long add(long sum, long more) {
        return sum > Long.MAX_VALUE - more ? Long.MAX_VALUE : sum + more;
    }

    /** Offsets per second of each client, the median where nothing is known of one; null: nothing of any. */
    public double[] perSecond() {
        double[] rates = new double[offsets.length];
        double[] known = new double[offsets.length];
        int count = 0;
        for (int c = 0; c < offsets.length; c++) {
            if (ms[c] > 0 && offsets[c] > 0) {
                rates[c] = BigInteger.valueOf(offsets[c])
                        .multiply(BigInteger.valueOf(1_000))
                        .divide(BigInteger.valueOf(ms[c]))
                        .doubleValue();
                known[count++] = rates[c];
            } else {
                rates[c] = -1;
            }
        }
        if (count == 0) {
            return null;
        }
        Arrays.sort(known, 0, count);
        double median = Math.floor((known[(count - 1) / 2] + known[count / 2]) / 2);
        for (int c = 0; c < rates.length; c++) {
            rates[c] = Math.max(1, rates[c] < 0 ? median : rates[c]);
        }
        return rates;
    }

    /** Whether some client was seen at work: otherwise only lower bounds are known, if at all. */
    boolean isMeasured() {
        return IntStream.range(0, ms.length).anyMatch(c -> ms[c] > 0 && !isLeast[c]);
    }

    /** The longest time in which a client was looked at. */
    long longestLookMs() {
        return Arrays.stream(ms).max().orElse(0);
    }

    /** For how long what is known of some clients is believed: of who was seen at work only briefly, not for long. */
    double trustedMs(int[] clients) {
        long briefest = Arrays.stream(clients)
                .filter(c -> ms[c] > 0 && !isLeast[c])
                .mapToLong(c -> ms[c])
                .min()
                .orElse(FollowupPolicy.BRIEF_MS);
        return briefest < FollowupPolicy.BRIEF_MS
                ? Math.max(FollowupPolicy.FIRST_LOOK_MS, FollowupPolicy.TRUSTED * briefest)
                : Double.MAX_VALUE;
    }

    /** Whether this answer counts for R11 where a copy has made no progress. */
    public boolean countsIdle() {
        return countsIdle;
    }

    /** How many answers in a row have seen nothing come nearer. */
    int looks() {
        return looks;
    }

    /** The start of the next answer's rates; null: no times are known. */
    public Pace toPace() {
        if (takenAtMs < 0) {
            return null;
        }
        Map<String, Pace.Restored> clients = new HashMap<>();
        for (int c = 0; c < offsets.length; c++) {
            if (ms[c] > 0) {
                clients.put(snapshot.clientName(c), new Pace.Restored(offsets[c], ms[c], isLeast[c]));
            }
        }
        return new Pace(takenAtMs, Map.copyOf(clients), looks, countedAtMs);
    }
}
