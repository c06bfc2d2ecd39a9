package io.github.optassign.learn;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The growth rate of each task's input, in records per second, measured from one rebalance to the next as the service
 * does it (docs/reference/rules.md, "Balanced under load"). Each rate is a weighted mean of all measurements, whose
 * weights halve every {@link MeasuringPolicy#HALF_LIFE_MS}. A rate is known once it has been measured for
 * {@link MeasuringPolicy#COUNTS_AFTER_MS}.
 */
public final class InputRates {

    /** Guarded by this. */
    private Map<String, Row> rows = new HashMap<>();

    private long takenAtMs = -1;

    /**
     * The rate of a task.
     *
     * @param perSecond records per second; less than 0 if not measured yet
     * @param measured the total weight of its measurements, from 0 to below 1
     */
    private record Row(long end, double perSecond, double measured) {
        double missingMs() {
            double measuredMs = measured < 1
                    ? -MeasuringPolicy.HALF_LIFE_MS * Math.log(1 - measured) / Math.log(2)
                    : MeasuringPolicy.COUNTS_AFTER_MS;
            double missingMs = MeasuringPolicy.COUNTS_AFTER_MS - measuredMs;
            return missingMs > MeasuringPolicy.EARLY_MS ? missingMs : 0;
        }
    }

    /**
     * Updates the rates with the current end offsets. A clock that goes back changes no rate, and neither do offsets
     * that have fallen, of topics that were recreated. A call within {@link MeasuringPolicy#LEAST_MEASURED_MS} of the
     * last call is ignored. Tasks that are not in the snapshot are forgotten.
     *
     * @param ends per task the end offsets of its source partitions, summed
     * @param nowMs milliseconds since 1970
     */
    public synchronized void measure(Snapshot snapshot, long[] ends, long nowMs) {
        long elapsedMs = takenAtMs < 0 ? 0 : nowMs - takenAtMs;
        if (takenAtMs >= 0 && elapsedMs >= 0 && elapsedMs < MeasuringPolicy.LEAST_MEASURED_MS) {
            return;
        }
        double kept = Math.pow(0.5, Math.max(0, elapsedMs) / (double) MeasuringPolicy.HALF_LIFE_MS);
        Map<String, Row> now = new HashMap<>();
        for (int t = 0; t < ends.length; t++) {
            Row row = rows.get(snapshot.taskName(t));
            double rate = row == null ? -1 : row.perSecond;
            double measured = row == null || rate < 0 ? 0 : row.measured;
            boolean isMeasured = row != null && elapsedMs >= MeasuringPolicy.LEAST_MEASURED_MS && ends[t] >= row.end;
            if (isMeasured) {
                double latest = (ends[t] - row.end) * 1_000.0 / elapsedMs;
                double old = measured * kept;
                measured = old + 1 - kept;
                rate = rate < 0 ? latest : rate + (latest - rate) * (1 - old / measured);
            }
            now.put(snapshot.taskName(t), new Row(ends[t], rate, measured));
        }
        rows = now;
        takenAtMs = nowMs;
    }

    /** Returns per task its rate, records per second, or -1 if the rate is not known yet. */
    public synchronized double[] find(Snapshot snapshot) {
        double[] known = new double[snapshot.taskCount()];
        Arrays.fill(known, -1);
        for (int t = 0; t < known.length; t++) {
            Row row = rows.get(snapshot.taskName(t));
            known[t] = row == null || row.missingMs() > 0 ? -1 : row.perSecond;
        }
        return known;
    }

    /**
     * Returns the time until all rates are known, ms, if offsets are still reported; 0 if no rate is missing.
     *
     * @param nowMs milliseconds since 1970
     */
    public synchronized long findWaitMs(long nowMs) {
        double missing =
                rows.values().stream().mapToDouble(Row::missingMs).max().orElse(0);
        long at = takenAtMs + Math.max((long) Math.ceil(missing), MeasuringPolicy.LEAST_MEASURED_MS);
        return missing > 0 ? Math.max(0, at - nowMs) : 0;
    }
}
