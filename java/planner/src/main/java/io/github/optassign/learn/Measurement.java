package io.github.optassign.learn;

import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.policy.FollowupPolicy;
import java.math.BigInteger;

/**
 * The offsets that one client restored between two snapshots.
 *
 * @param elapsedMs the time between the snapshots
 * @param ageMs the age that the later lags may have
 * @param isStart whether the client began to restore in most of that time. A start is slow, so it tells at most that a
 *     rate was too low
 * @param isDone whether every copy was caught up by then, perhaps long before: the rate is a lower bound
 */
record Measurement(long offsets, long elapsedMs, long ageMs, boolean isStart, boolean isDone) {
    /** The most restored offsets that are kept: a thousand and a half times as many still are a long. */
    private static final long MOST_OFFSETS = Long.MAX_VALUE / 4_000;

    /** Returns the rate of the client after this measurement. */
    Pace.Restored update(Pace.Restored known) {
        if (isStart && !isDone && !isFasterThan(known)) {
            return known;
        }
        if (!isStart && !isDone) {
            return blend(known, Math.max(elapsedMs - ageMs, elapsedMs / 2));
        }
        if (known.evidence() == Evidence.NONE) {
            return scaleDown((long) (offsets * FollowupPolicy.BELIEVED_FIRST), elapsedMs, Evidence.BOUND);
        }
        if (isFasterThan(known)) {
            Evidence evidence = known.evidence() == Evidence.BOUND ? Evidence.BOUND : Evidence.ONCE;
            return scaleDown((long) (offsets * FollowupPolicy.BELIEVED_MORE), elapsedMs, evidence);
        }
        double more =
                known.evidence() == Evidence.BOUND ? FollowupPolicy.BELIEVED_MORE : FollowupPolicy.BELIEVED_MEASURED;
        return scaleDown((long) (known.offsets() * more), known.ms(), known.evidence());
    }

    private Pace.Restored blend(Pace.Restored known, long busyMs) {
        if (known.evidence().compareTo(Evidence.ONCE) < 0) {
            return scaleDown(offsets, busyMs, Evidence.ONCE);
        }
        boolean isSteady = agreesWith(known, busyMs);
        long keptMs =
                isSteady ? Math.max(0, Math.min(known.ms(), FollowupPolicy.RATE_WINDOW_MS - busyMs)) : known.ms() / 2;
        long kept = multiply(known.offsets(), keptMs)
                .divide(BigInteger.valueOf(Math.max(1, known.ms())))
                .longValueExact();
        return scaleDown(
                RestoreWork.addCapped(kept, offsets),
                RestoreWork.addCapped(keptMs, busyMs),
                isSteady ? Evidence.STEADY : Evidence.ONCE);
    }

    private boolean isFasterThan(Pace.Restored known) {
        return multiply(offsets, known.ms()).compareTo(multiply(known.offsets(), elapsedMs)) > 0;
    }

    /** Returns whether the two rates differ by at most the factor {@link FollowupPolicy#AGREES}. */
    private boolean agreesWith(Pace.Restored known, long busyMs) {
        double one = multiply(known.offsets(), busyMs).doubleValue();
        double other = multiply(offsets, known.ms()).doubleValue();
        double greater = Math.max(one, other);
        return greater > 0 && greater <= FollowupPolicy.AGREES * Math.min(one, other);
    }

    /** Returns the same rate in numbers that are small enough: a rate that is believed more and more has no end. */
    static Pace.Restored scaleDown(long offsets, long ms, Evidence evidence) {
        long number = offsets;
        long time = ms;
        while (number > MOST_OFFSETS && time > 1) {
            number /= 2;
            time /= 2;
        }
        return new Pace.Restored(Math.min(number, MOST_OFFSETS), time, evidence);
    }

    private static BigInteger multiply(long one, long other) {
        return BigInteger.valueOf(one).multiply(BigInteger.valueOf(other));
    }
}
