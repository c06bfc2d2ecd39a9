package io.github.optassign.learn;

import io.github.optassign.model.Evidence;
import io.github.optassign.model.Pace;
import io.github.optassign.model.RestoreWork;
import io.github.optassign.policy.FollowupPolicy;
import java.math.BigInteger;

/**
 * A measurement of how much one client restored between two snapshots.
 *
 * @param offsets the offsets by which the lags of its copies fell
 * @param elapsedMs the time between the snapshots
 * @param ageMs the greatest age that the lags of the later snapshot may have
 * @param isStart whether most of that time belongs to the first {@link FollowupPolicy#START_MS} of the client's
 *     restoring. These are slow, so they show at most that the known rate is too low
 * @param isDone whether all copies were caught up at the later snapshot, perhaps long before. The measured rate is then
 *     a lower bound
 */
record Measurement(long offsets, long elapsedMs, long ageMs, boolean isStart, boolean isDone) {
    /** The greatest number of offsets in a rate; raised by {@link #update} and multiplied by 1,000, it fits a long. */
    private static final long MOST_OFFSETS = Long.MAX_VALUE / 4_000;

    /** Returns the client's rate after this measurement, given the rate known before. */
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

    /**
     * Returns the mean of this measurement, taken in {@code busyMs}, and the known rate. A known rate that agrees
     * counts for the rest of {@link FollowupPolicy#RATE_WINDOW_MS}; otherwise it counts at most half.
     */
    private Pace.Restored blend(Pace.Restored known, long busyMs) {
        if (known.evidence().compareTo(Evidence.ONCE) < 0) {
            return scaleDown(offsets, busyMs, Evidence.ONCE);
        }
        boolean isSteady = agreesWith(known, busyMs);
        long keptMs = isSteady
                ? Math.max(0, Math.min(known.ms(), FollowupPolicy.RATE_WINDOW_MS - busyMs))
                : Math.min(known.ms() / 2, busyMs);
        long kept = multiply(known.offsets(), keptMs)
                .divide(BigInteger.valueOf(Math.max(1, known.ms())))
                .longValueExact();
        return scaleDown(
                RestoreWork.addCapped(kept, offsets),
                RestoreWork.addCapped(keptMs, busyMs),
                isSteady ? Evidence.STEADY : Evidence.ONCE);
    }

    /** Returns whether the measured lower bound is above the known rate. */
    private boolean isFasterThan(Pace.Restored known) {
        return multiply(offsets, known.ms()).compareTo(multiply(known.offsets(), elapsedMs)) > 0;
    }

    /** Returns whether the measured and the known rate differ at most by the factor {@link FollowupPolicy#AGREES}. */
    private boolean agreesWith(Pace.Restored known, long busyMs) {
        double one = multiply(known.offsets(), busyMs).doubleValue();
        double other = multiply(offsets, known.ms()).doubleValue();
        double greater = Math.max(one, other);
        return greater > 0 && greater <= FollowupPolicy.AGREES * Math.min(one, other);
    }

    /** Returns the same rate, with smaller numbers if {@code offsets} exceeds {@link #MOST_OFFSETS}. */
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
