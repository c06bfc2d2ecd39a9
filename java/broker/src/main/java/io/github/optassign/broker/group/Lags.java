package io.github.optassign.broker.group;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * How far the processes of a group are behind, from the offsets that members send now and then.
 *
 * <p>A member that has a copy reads its changelog, so it is believed both numbers: they are of one moment, while
 * another member's end offset may be a minute younger. Unassigned state is measured against the greatest known end
 * offset.
 *
 * <p>A thread of Kafka Streams 4.4.0 tells nothing of the tasks that it runs, both numbers of those that it restores,
 * and of those that another thread of its process runs the offset 0, or that of the last start. So of an active only
 * its own thread is believed, and only both numbers together: one alone may be from before it got the task. A copy that
 * waits until it can be restored reports the greatest number as its end offset, which is not known then.
 */
public final class Lags {
    /** Kafka Streams' value instead of the offset of a task that runs. */
    private static final long LATEST = -2;

    static final long UNKNOWN = -1;

    /** Kafka Streams' value instead of the end of a changelog that it has not asked for yet. */
    private static final long NOT_KNOWN_YET = Long.MAX_VALUE;

    private final TaskTable tasks;
    private final long[] endOffsets;
    /** Process to task to offsets left to replay, or {@link #UNKNOWN}. */
    private final Map<String, Map<Integer, Long>> lags = new HashMap<>();

    /** Process to the tasks that its threads have as active. */
    private final Map<String, BitSet> actives = new HashMap<>();

    private boolean anyOffset;

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
            readDormant(member);
        }
        for (Member member : members) {
            readAssigned(member, member.active());
            readAssigned(member, member.standby());
        }
    }

    /** Takes one number of one task. */
    private interface Taking {
        void take(int t, long offset);
    }

    private void forEach(Map<String, Map<Integer, Long>> offsets, Taking taking) {
        offsets.forEach((subtopology, ofIt) -> ofIt.forEach((partition, offset) -> {
            int t = partition == null ? -1 : tasks.index(subtopology, partition);
            if (t >= 0 && offset != null) {
                taking.take(t, offset);
            }
        }));
    }

    private void readDormant(Member member) {
        Map<Integer, Long> ofProcess = lags.computeIfAbsent(member.process(), none -> new HashMap<>());
        BitSet running = actives.get(member.process());
        forEach(member.state().taskOffsets(), (t, offset) -> {
            anyOffset = true;
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

    /** The offset that a member tells of a task that it has as active and does not run; {@link #UNKNOWN}: none. */
    long ofActive(Member member, int t) {
        Long offset = find(member.state().taskOffsets(), t);
        return offset == null || offset < 0 ? UNKNOWN : offset;
    }

    /** Whether a process other than this one is known to lag by no more. */
    boolean isReadyBeside(String process, int t, long acceptable) {
        return lags.entrySet().stream().anyMatch(other -> {
            long lag = other.getValue().getOrDefault(t, UNKNOWN);
            return !other.getKey().equals(process) && lag >= 0 && lag <= acceptable;
        });
    }

    private Long find(Map<String, Map<Integer, Long>> offsets, int t) {
        return offsets.getOrDefault(tasks.subtopology(t), Map.of()).get(tasks.partition(t));
    }

    private static long toEnd(long told) {
        return told == NOT_KNOWN_YET ? UNKNOWN : told;
    }

    private static long toLag(long offset, long end) {
        if (offset == LATEST) {
            return 0;
        }
        return offset < 0 || end < 0 ? UNKNOWN : Math.max(0, end - offset);
    }

    /** Whether any member has sent any offset. */
    public boolean isAnyKnown() {
        return anyOffset;
    }

    /** Offsets in the task's changelogs; -1: not known. */
    public long endOffset(int t) {
        return endOffsets[t];
    }

    /** Task to offsets left to replay, or {@link #UNKNOWN}, of the tasks that the process has state of. */
    public Map<Integer, Long> of(String process) {
        return lags.getOrDefault(process, Map.of());
    }
}
