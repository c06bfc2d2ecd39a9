package io.github.optassign.progress;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

/**
 * A listener of restoration that records progress, then calls the application's own listener. Restoring threads make
 * the calls, so no method blocks.
 */
public final class ProgressListener implements StateRestoreListener, StandbyUpdateListener {
    private final RestoringCopies copies;
    private final StateRestoreListener restoreListener;
    private final StandbyUpdateListener standbyListener;

    /**
     * Creates a listener.
     *
     * @param copies the record of progress
     * @param restoreListener the application's own listener, or null
     * @param standbyListener the application's own listener, or null
     */
    public ProgressListener(
            RestoringCopies copies, StateRestoreListener restoreListener, StandbyUpdateListener standbyListener) {
        this.copies = copies;
        this.restoreListener = restoreListener;
        this.standbyListener = standbyListener;
    }

    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long from, long end) {
        copies.begin(changelog, true, from, end);
        if (restoreListener != null) {
            restoreListener.onRestoreStart(changelog, store, from, end);
        }
    }

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long last, long records) {
        copies.advance(changelog, null, last, -1);
        if (restoreListener != null) {
            restoreListener.onBatchRestored(changelog, store, last, records);
        }
    }

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long records) {
        copies.end(changelog);
        if (restoreListener != null) {
            restoreListener.onRestoreEnd(changelog, store, records);
        }
    }

    @Override
    public void onRestoreSuspended(TopicPartition changelog, String store, long records) {
        copies.end(changelog);
        if (restoreListener != null) {
            restoreListener.onRestoreSuspended(changelog, store, records);
        }
    }

    @Override
    public void onUpdateStart(TopicPartition changelog, String store, long from) {
        copies.begin(changelog, false, from, -1);
        if (standbyListener != null) {
            standbyListener.onUpdateStart(changelog, store, from);
        }
    }

    @Override
    public void onBatchLoaded(TopicPartition changelog, String store, TaskId task, long last, long records, long end) {
        copies.advance(changelog, task, last, end);
        if (standbyListener != null) {
            standbyListener.onBatchLoaded(changelog, store, task, last, records, end);
        }
    }

    @Override
    public void onUpdateSuspended(TopicPartition changelog, String store, long offset, long end, SuspendReason reason) {
        copies.end(changelog);
        if (standbyListener != null) {
            standbyListener.onUpdateSuspended(changelog, store, offset, end, reason);
        }
    }
}
