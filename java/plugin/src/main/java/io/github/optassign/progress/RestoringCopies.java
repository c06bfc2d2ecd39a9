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
 * The changelogs that this instance reads, by what Kafka Streams' listeners say of them; its {@link ProgressSender} is
 * woken when one begins.
 */
public final class RestoringCopies {

    private final ProgressSender sender;
    private final Map<TopicPartition, Copy> copies = new ConcurrentHashMap<>();

    public RestoringCopies(ProgressSender sender) {
        this.sender = sender;
    }

    /**
     * One copy, as the service is told.
     *
     * @param task null: an active task, whose name the listener is not told
     * @param lag offsets still to read
     * @param perSecond offsets read per second since it began; -1: not known
     */
    record Progress(String task, int partition, boolean active, long lag, double perSecond) {}

    /** One changelog. Its values change on one thread, and are read by another. */
    private static final class Copy {
        private final boolean active;
        private final long from;
        private final long began = System.nanoTime();
        private volatile String task;
        private volatile long end;
        private volatile long at;
        private volatile long seen = began;

        Copy(boolean active, long from, long end) {
            this.active = active;
            this.from = from;
            this.at = from;
            this.end = end;
        }

        /** Offsets that are still to be read; -1: not known. */
        long lag() {
            return end < 0 ? -1 : Math.max(0, end - at);
        }

        double perSecond() {
            double seconds = (seen - began) / (double) TimeUnit.SECONDS.toNanos(1);
            return seconds > 0 && at > from ? (at - from) / seconds : -1;
        }
    }

    /** Notes that a changelog begins to be read. end: the offset behind its last one; -1: not known yet. */
    void begin(TopicPartition changelog, boolean active, long from, long end) {
        copies.put(changelog, new Copy(active, from, end));
        sender.wake(this);
    }

    /** Notes that a changelog has been read up to this offset, which is the last one read. */
    void advance(TopicPartition changelog, TaskId task, long last, long end) {
        Copy copy = copies.get(changelog);
        if (copy == null) {
            return;
        }
        copy.task = task == null ? null : task.toString();
        copy.at = last + 1;
        if (end >= 0) {
            copy.end = end;
        }
        copy.seen = System.nanoTime();
        if (copy.lag() > sender.mostLag()) {
            sender.wake(this);
        }
    }

    /** Notes that a changelog is not read any more. */
    void end(TopicPartition changelog) {
        copies.remove(changelog);
    }

    /** Whether a copy has more to read than may be behind. */
    boolean areBehind(long mostLag) {
        return copies.values().stream().anyMatch(copy -> copy.lag() < 0 || copy.lag() > mostLag);
    }

    /** The copies whose lag is known, the greatest first; all stores of a standby's task together. */
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
