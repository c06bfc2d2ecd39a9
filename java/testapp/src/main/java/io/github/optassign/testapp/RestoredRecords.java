package io.github.optassign.testapp;

import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

/** How many records were read from changelogs, by active tasks before they could run and by standbys and warm-ups. */
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
    public void onRestoreStart(final TopicPartition changelog, final String store, final long from, final long to) {}

    @Override
    public void onBatchRestored(
            final TopicPartition changelog, final String store, final long end, final long records) {
        active.add(records);
    }

    @Override
    public void onRestoreEnd(final TopicPartition changelog, final String store, final long records) {}

    @Override
    public void onUpdateStart(final TopicPartition changelog, final String store, final long from) {}

    @Override
    public void onBatchLoaded(
            final TopicPartition changelog,
            final String store,
            final TaskId task,
            final long batchEnd,
            final long records,
            final long end) {
        standby.add(records);
    }

    @Override
    public void onUpdateSuspended(
            final TopicPartition changelog,
            final String store,
            final long offset,
            final long end,
            final SuspendReason reason) {}
}
