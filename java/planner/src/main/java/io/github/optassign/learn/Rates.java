package io.github.optassign.learn;

import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.policy.FollowupPolicy;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The restore rates of clients, measured by the lags in two snapshots and the time between them
 * (docs/reference/rules.md, "The follow-up").
 *
 * <p>A rate is the mean of agreeing measurements over about {@link FollowupPolicy#RATE_WINDOW_MS}. A measurement that
 * disagrees counts at least as much as those before it.
 *
 * <p>A member reports its lags when it joins the rebalance, up to a heartbeat before the assignment. So the time of its
 * restoring is known only within bounds. The fastest rate within these bounds is taken, because a follow-up that comes
 * too early costs less than a late one. If the clock of the snapshots goes back, rates do not change.
 */
public final class Rates {
    private static final Pace.Restored UNKNOWN = new Pace.Restored(0, 0, Evidence.NONE);

    private final Snapshot snapshot;
    private final long takenAtMs;
    /** Per client its rate. */
    private final Pace.Restored[] rates;

    private long elapsedMs;
    private int looks;
    private boolean countsAsIdle = true;
    private long countedAtMs;

    /** Updates the rates of the last answer with the fall of lags since; no rate is known without times. */
    public Rates(Snapshot snapshot, Previous previous, Timing timing) {
        this.snapshot = snapshot;
        takenAtMs = timing.takenAtMs();
        rates = new Pace.Restored[snapshot.clientCount()];
        Arrays.fill(rates, UNKNOWN);
        countedAtMs = takenAtMs;
        Pace before = previous.pace();
        if (before == null || takenAtMs < 0) {
            return;
        }
        before.clients().forEach((name, restored) -> {
            Integer c = snapshot.clientIndex(name);
            if (c != null && restored.offsets() >= 0 && restored.ms() > 0) {
                rates[c] = Measurement.scaleDown(restored.offsets(), restored.ms(), restored.evidence());
            }
        });
        elapsedMs = takenAtMs - before.takenAtMs();
        updateRatesAndLooks(before.looks(), previous);
        long sinceMs = takenAtMs - before.countedAtMs();
        boolean isDue = before.countedAtMs() < 0 || sinceMs < 0 || sinceMs >= FollowupPolicy.LEAST_INTERVAL_MS;
        countsAsIdle = isDue && !previous.isAnyInTransit();
        countedAtMs = countsAsIdle ? takenAtMs : before.countedAtMs();
    }

    private void updateRatesAndLooks(int looksBefore, Previous previous) {
        Long askedFollowupMs = previous.askedFollowupMs();
        // A group that was stable starts anew, with an early look.
        looks = askedFollowupMs == null ? 0 : looksBefore;
        long teachingMs = askedFollowupMs == null
                ? FollowupPolicy.LAG_AGE_MS
                : Math.min(FollowupPolicy.LAG_AGE_MS, Math.max(FollowupPolicy.REBALANCE_MS, askedFollowupMs));
        // Members report their lags when the follow-up is due or later, so these are no older than it is late.
        long ageMs = askedFollowupMs == null || elapsedMs < askedFollowupMs
                ? FollowupPolicy.LAG_AGE_MS
                : Math.min(FollowupPolicy.LAG_AGE_MS, elapsedMs - askedFollowupMs);
        long acceptable = snapshot.configs().acceptableRecoveryLag();
        List<Previous.Progress> awaited = previous.awaitedCopies().stream()
                .filter(copy -> copy.lag() > acceptable && previous.hadAnyCopy(copy.task(), copy.client()))
                .toList();
        // A second pass is no measurement: its lags may be as old as the answer before it.
        if (elapsedMs >= teachingMs && !awaited.isEmpty() && !previous.isAnyInTransit()) {
            looks = updateRates(awaited, ageMs) ? 0 : looks + 1;
        } else if (askedFollowupMs != null
                && elapsedMs >= FollowupPolicy.REBALANCE_MS
                && previous.awaitedCopies().isEmpty()) {
            looks++;
        }
    }

    /** Updates the rates of the clients of awaited copies, and returns whether any lag has fallen. */
    private boolean updateRates(List<Previous.Progress> awaited, long ageMs) {
        Ranks ranks = snapshot.ranks();
        boolean hasFallen = false;
        Map<Integer, List<Previous.Progress>> byClient =
                awaited.stream().collect(Collectors.groupingBy(Previous.Progress::client));
        for (int c : byClient.keySet()) {
            long restored = 0;
            long underWayMs = -1;
            boolean isDone = true;
            for (Previous.Progress copy : byClient.get(c)) {
                restored = RestoreWork.addCapped(restored, Math.max(0, copy.lag() - ranks.offsets(copy.task(), c)));
                underWayMs = Math.max(underWayMs, copy.underWayMs());
                isDone &= ranks.rank(copy.task(), c) == 0;
            }
            if (underWayMs >= 0) {
                boolean isStart = 2 * (FollowupPolicy.START_MS - underWayMs) > elapsedMs;
                rates[c] = new Measurement(restored, elapsedMs, ageMs, isStart, isDone).update(rates[c]);
            }
            hasFallen |= restored > 0;
        }
        return hasFallen;
    }

    /**
     * Returns the offsets that each client restores per second, or null if no client's rate is known. A client without
     * a rate has the median of the others.
     */
    public double[] perSecond() {
        double[] all = Arrays.stream(rates).mapToDouble(Rates::perSecond).toArray();
        double[] known = Arrays.stream(all).filter(rate -> rate >= 0).sorted().toArray();
        if (known.length == 0) {
            return null;
        }
        double median = Math.floor((known[(known.length - 1) / 2] + known[known.length / 2]) / 2);
        return Arrays.stream(all)
                .map(rate -> Math.max(1, rate < 0 ? median : rate))
                .toArray();
    }

    /** Returns the offsets per second, or -1 if the rate is unknown. */
    private static double perSecond(Pace.Restored rate) {
        return rate.ms() <= 0 || rate.offsets() <= 0
                ? -1
                : rate.offsets() * 1_000 / rate.ms(); // Measurement bounds the offsets, so the product fits a long
    }

    /** Returns whether agreeing measurements of the client span {@link FollowupPolicy#RATE_WINDOW_MS}. */
    public boolean isTrusted(int client) {
        return rates[client].evidence() == Evidence.STEADY && rates[client].ms() >= FollowupPolicy.RATE_WINDOW_MS;
    }

    /** Returns the milliseconds since the snapshot of the last answer, or 0 if unknown. */
    public long elapsedMs() {
        return Math.max(0, elapsedMs);
    }

    /** Returns whether R11 counts this answer: {@link FollowupPolicy#LEAST_INTERVAL_MS} have passed since the last. */
    public boolean countsAsIdle() {
        return countsAsIdle;
    }

    /** Returns the number of answers in a row, up to this one, that found no fall of any awaited lag. */
    public int looksWithoutProgress() {
        return looks;
    }

    /** Returns the rates and counters that the next answer starts from, or null if the snapshot has no time. */
    public Pace toPace() {
        if (takenAtMs < 0) {
            return null;
        }
        Map<String, Pace.Restored> clients = IntStream.range(0, rates.length)
                .filter(c -> rates[c].ms() > 0)
                .boxed()
                .collect(Collectors.toUnmodifiableMap(snapshot::clientName, c -> rates[c]));
        return new Pace(takenAtMs, clients, looks, countedAtMs);
    }
}
