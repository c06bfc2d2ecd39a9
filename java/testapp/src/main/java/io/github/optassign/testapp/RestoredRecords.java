package io.github.optassign.testapp;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

/**
 * Counts the records that were read from changelogs: by active tasks before they could run, by standbys and by
 * warm-ups.
 */
final class RestoredRecords implements StateRestoreListener, StandbyUpdateListener {
    private final LongAdder active = new LongAdder();
    private final LongAdder standby = new LongAdder();

    long active() {
        return active.sum();
    }

    long standby() {
        return standby.sum();
    }

    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long end, long records) {
        active.add(records);
    }

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long records) {}

    @Override
    public void onUpdateStart(TopicPartition changelog, String store, long from) {}

    @Override
    public void onBatchLoaded(
            TopicPartition changelog, String store, TaskId task, long batchEnd, long records, long end) {
        standby.add(records);
    }

    @Override
    public void onUpdateSuspended(
            TopicPartition changelog, String store, long offset, long end, SuspendReason reason) {}
}
