package io.github.optassign.learn;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.MeasuringPolicy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The growth rate of each task's input, in records per second, measured from one rebalance to the next as the service
 * does it (docs/reference/rules.md, "Balanced under load"). It is the mean of all measurements; one that is eight hours
 * older counts half. A rate counts once it was measured for a minute.
 */
public final class InputRates {

    /** Guarded by this. */
    private Map<String, Row> rows = new HashMap<>();

    private long takenAtMs = -1;

    /**
     * The rate of a task.
     *
     * @param perSecond records per second; less than 0 if not measured yet
     * @param measured the share of a full measurement, from 0 to 1
     */
    private record Row(long end, double perSecond, double measured) {
        double missingMs() {
            double measuredMs = measured < 1
                    ? -MeasuringPolicy.HALF_LIFE_MS * Math.log(1 - measured) / Math.log(2)
                    : MeasuringPolicy.COUNTS_AFTER_MS;
            return Math.max(0, MeasuringPolicy.COUNTS_AFTER_MS - measuredMs);
        }
    }

    /**
     * Updates the rates by the present end offsets. A clock that goes back changes no rate, and a task whose offsets
     * have fallen begins again. A call within {@link MeasuringPolicy#LEAST_MEASURED_MS} of the last one is ignored.
     * Rates are averages, in which a measurement counts half after {@link MeasuringPolicy#HALF_LIFE_MS}. Tasks that are
     * not in the snapshot are forgotten.
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
            } else if (row != null && ends[t] < row.end) {
                rate = -1;
                measured = 0;
            }
            now.put(snapshot.taskName(t), new Row(ends[t], rate, measured));
        }
        rows = now;
        takenAtMs = nowMs;
    }

    /** Returns per task its rate, or less than 0 if it does not count yet. */
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
     * Returns the time until all rates count if offsets are still reported; 0 if they already do, or without rates.
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
