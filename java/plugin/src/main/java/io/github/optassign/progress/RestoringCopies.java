package io.github.optassign.progress;

import io.github.optassign.policy.ServicePolicy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;

/**
 * The restore progress of the changelogs that this instance reads, as Kafka Streams' listeners report it. Starts the
 * {@link ProgressSender} when a copy begins to restore or falls behind.
 */
public final class RestoringCopies {
    /** The longest wait for a copy's first batch. Kafka loads none for a standby whose changelog has nothing new. */
    private static final long FIRST_BATCH_MS = 60_000;

    private final ProgressSender sender;
    private final Map<TopicPartition, Copy> copies = new ConcurrentHashMap<>();

    public RestoringCopies(ProgressSender sender) {
        this.sender = sender;
    }

    /**
     * The progress of a copy, as sent to the service.
     *
     * @param task null for an active task, since Kafka's listener does not name it
     * @param lag offsets still to read
     * @param perSecond offsets read per second since the start, or -1 if unknown
     */
    record Progress(String task, int partition, boolean active, long lag, double perSecond) {}

    /** The progress of one changelog. One thread writes it, another reads it. */
    private static final class Copy {
        private final boolean active;
        private final long from;
        private final long startNanos = System.nanoTime();
        private volatile String task;
        private volatile long end;
        private volatile long next;
        private volatile long readNanos = startNanos;

        Copy(boolean active, long from, long end) {
            this.active = active;
            this.from = from;
            this.next = from;
            this.end = end;
        }

        /** Returns the offsets still to read, or -1 if unknown. */
        long lag() {
            return end < 0 ? -1 : Math.max(0, end - next);
        }

        double perSecond() {
            double seconds = (readNanos - startNanos) / (double) TimeUnit.SECONDS.toNanos(1);
            return seconds > 0 && next > from ? (next - from) / seconds : -1;
        }
    }

    /**
     * Records the start of a changelog.
     *
     * @param end the offset after the last record, or -1 if unknown
     */
    void begin(TopicPartition changelog, boolean active, long from, long end) {
        copies.put(changelog, new Copy(active, from, end));
        sender.start(this);
    }

    /**
     * Records the progress of a changelog; ignored if its start is unknown.
     *
     * @param last the last offset read
     * @param end the offset after the last record, or -1 if unknown
     */
    void advance(TopicPartition changelog, TaskId task, long last, long end) {
        Copy copy = copies.get(changelog);
        if (copy == null) {
            return;
        }
        copy.task = task == null ? null : task.toString();
        copy.next = last + 1;
        if (end >= 0) {
            copy.end = end;
        }
        copy.readNanos = System.nanoTime();
        if (copy.lag() > sender.acceptableLag()) {
            sender.start(this);
        }
    }

    /** Removes a changelog that is no longer read. */
    void end(TopicPartition changelog) {
        copies.remove(changelog);
    }

    /**
     * Returns whether any copy has a lag above {@code acceptableLag}, or an unknown lag and began to read less than
     * {@link #FIRST_BATCH_MS} before {@code nowNanos}.
     */
    boolean areBehind(long acceptableLag, long nowNanos) {
        long oldest = nowNanos - TimeUnit.MILLISECONDS.toNanos(FIRST_BATCH_MS);
        return copies.values().stream()
                .anyMatch(copy -> copy.lag() < 0 ? copy.startNanos - oldest > 0 : copy.lag() > acceptableLag);
    }

    /** Returns the copies with the greatest known lags, in that order. Changelogs of a standby count as one copy. */
    List<Progress> list() {
        Map<String, Progress> standbys = new TreeMap<>();
        List<Progress> actives = new ArrayList<>();
        copies.forEach((changelog, copy) -> {
            String task = copy.task;
            long lag = copy.lag();
            if (lag < 0) {
                return;
            }
            Progress one = new Progress(task, changelog.partition(), copy.active, lag, copy.perSecond());
            if (copy.active) {
                actives.add(one);
            } else if (task != null) {
                standbys.merge(task, one, RestoringCopies::add);
            }
        });
        return Stream.concat(standbys.values().stream(), actives.stream())
                .sorted(Comparator.comparingLong(Progress::lag).reversed())
                .limit(ServicePolicy.PROGRESS_COPIES)
                .toList();
    }

    private static Progress add(Progress one, Progress other) {
        double perSecond = Math.max(0, one.perSecond) + Math.max(0, other.perSecond);
        return new Progress(one.task, one.partition, one.active, one.lag + other.lag, perSecond > 0 ? perSecond : -1);
    }
}
