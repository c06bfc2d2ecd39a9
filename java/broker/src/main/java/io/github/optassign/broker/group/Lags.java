package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The lags of a group's processes, from the offsets that members send at intervals.
 *
 * <p>A member with a copy reads the changelog, so the lag is its own end offset less its own offset, both of one
 * moment. Another member's end offset may be a minute newer. The lag of unassigned state is measured against the
 * greatest known end offset.
 *
 * <p>A thread of Kafka Streams 4.4.0 reports neither number for tasks that it runs, and both for tasks that it
 * restores. For tasks that another thread of its process runs, it reports the offset 0 or the offset at its last start.
 * So the lag of an active comes from its own thread only, and only if the thread reports both numbers. A single number
 * may date from before the thread got the task. A copy that waits for its restoration reports {@link Long#MAX_VALUE} as
 * its end offset, which means unknown.
 */
public final class Lags {
    /** Kafka Streams' value for the offset of a running task. */
    private static final long LATEST = -2;

    static final long UNKNOWN = -1;

    /** Kafka Streams' value for an end offset that it has not requested yet. */
    private static final long NOT_KNOWN_YET = Long.MAX_VALUE;

    private final TaskTable tasks;
    private final long[] endOffsets;
    /** The lags by process and task, offsets or {@link #UNKNOWN}. */
    private final Map<String, Map<Integer, Long>> lags = new HashMap<>();

    /** The active tasks of all threads, by process. */
    private final Map<String, BitSet> actives = new HashMap<>();

    private boolean hasOffset;

    public Lags(TaskTable tasks, List<Member> members) {
        this.tasks = tasks;
        endOffsets = new long[tasks.size()];
        Arrays.fill(endOffsets, -1);
        for (Member member : members) {
            forEach(member.state().taskEndOffsets(), (t, end) -> endOffsets[t] = Math.max(endOffsets[t], toEnd(end)));
            BitSet ofProcess = actives.computeIfAbsent(member.process(), none -> new BitSet());
            IntStream.of(member.active()).forEach(ofProcess::set);
        }
        for (Member member : members) {
            readUnassigned(member);
        }
        for (Member member : members) {
            readAssigned(member, member.active());
            readAssigned(member, member.standby());
        }
    }

    /** A function of a task and its offset. */
    private interface OffsetConsumer {
        void accept(int t, long offset);
    }

    private void forEach(Map<String, Map<Integer, Long>> offsets, OffsetConsumer consumer) {
        offsets.forEach((subtopology, byPartition) -> byPartition.forEach((partition, offset) -> {
            int t = partition == null ? -1 : tasks.index(subtopology, partition);
            if (t >= 0 && offset != null) {
                consumer.accept(t, offset);
            }
        }));
    }

    private void readUnassigned(Member member) {
        Map<Integer, Long> ofProcess = lags.computeIfAbsent(member.process(), none -> new HashMap<>());
        BitSet running = actives.get(member.process());
        forEach(member.state().taskOffsets(), (t, offset) -> {
            hasOffset = true;
            if (running.get(t)) {
                return;
            }
            long lag = toLag(offset, endOffsets[t]);
            ofProcess.merge(t, lag, (one, other) -> one < 0 || other < 0 ? Math.max(one, other) : Math.min(one, other));
        });
    }

    private void readAssigned(Member member, int[] assigned) {
        Map<Integer, Long> ofProcess = lags.get(member.process());
        for (int t : assigned) {
            Long offset = find(member.state().taskOffsets(), t);
            Long end = find(member.state().taskEndOffsets(), t);
            if (offset != null && end != null) {
                ofProcess.put(t, toLag(offset, toEnd(end) >= 0 ? end : endOffsets[t]));
            }
        }
    }

    /** Returns the offset that a member reports for an active task that it restores, or {@link #UNKNOWN} if none. */
    long ofActive(Member member, int t) {
        Long offset = find(member.state().taskOffsets(), t);
        return offset == null || offset < 0 ? UNKNOWN : offset;
    }

    /** Returns whether another process is known to lag by at most {@code acceptable} offsets. */
    boolean isCaughtUpElsewhere(String process, int t, long acceptable) {
        return lags.entrySet().stream().anyMatch(other -> {
            long lag = other.getValue().getOrDefault(t, UNKNOWN);
            return !other.getKey().equals(process) && lag >= 0 && lag <= acceptable;
        });
    }

    private Long find(Map<String, Map<Integer, Long>> offsets, int t) {
        return offsets.getOrDefault(tasks.subtopology(t), Map.of()).get(tasks.partition(t));
    }

    private static long toEnd(long reported) {
        return reported == NOT_KNOWN_YET ? UNKNOWN : reported;
    }

    private static long toLag(long offset, long end) {
        if (offset == LATEST) {
            return 0;
        }
        return offset < 0 || end < 0 ? UNKNOWN : Math.max(0, end - offset);
    }

    /** Returns whether any member has sent an offset. */
    public boolean isAnyKnown() {
        return hasOffset;
    }

    /** Returns the end offset of the task's changelogs, summed, or -1 if unknown. */
    public long endOffset(int t) {
        return endOffsets[t];
    }

    /** Returns the lags of the tasks with state on a process: offsets or {@link #UNKNOWN}. */
    public Map<Integer, Long> of(String process) {
        return lags.getOrDefault(process, Map.of());
    }
}
