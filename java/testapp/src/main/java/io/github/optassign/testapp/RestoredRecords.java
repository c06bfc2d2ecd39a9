package io.github.optassign.testapp;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

/**
 * A counter of records that are read from changelogs, by active tasks before they run, and by standbys and warm-ups.
 */
final class RestoredRecords implements StateRestoreListener, StandbyUpdateListener {
    private final LongAdder active = new LongAdder();
    private final LongAdder standby = new LongAdder();
    private final long workNanos;

    /**
     * Creates a counter.
     *
     * @param workNanos the additional processor time per record, ns, so that small state takes as long as large state
     */
    RestoredRecords(long workNanos) {
        this.workNanos = workNanos;
    }

    long active() {
        return active.sum();
    }

    long standby() {
        return standby.sum();
    }

    /** Keeps the restoring thread busy, as larger records would. */
    private void work(long records) {
        long end = System.nanoTime() + records * workNanos;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long end, long records) {
        active.add(records);
        work(records);
    }

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long records) {}

    @Override
    public void onUpdateStart(TopicPartition changelog, String store, long from) {}

    @Override
    public void onBatchLoaded(
            TopicPartition changelog, String store, TaskId task, long batchEnd, long records, long end) {
        standby.add(records);
        work(records);
    }

    @Override
    public void onUpdateSuspended(
            TopicPartition changelog, String store, long offset, long end, SuspendReason reason) {}
}
