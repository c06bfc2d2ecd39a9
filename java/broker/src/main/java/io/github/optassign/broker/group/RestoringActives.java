package io.github.optassign.broker.group;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The active tasks that restore in place although another process has all of their state (KAFKA-13501).
 *
 * <p>A thread of Kafka Streams 4.4.0 reports an offset for an active task that it restores, and none for a task that it
 * runs. The report may be older than its assignment of the task. So an offset counts if the same thread had the task at
 * the last call and reported another offset or none. The coordinator calls no assignor when a static member restarts,
 * so the offset of its successor counts at its first report. A successor in another process has a new disk.
 */
public final class RestoringActives {
    /**
     * The report of a member on its active tasks, to remember for the next call.
     *
     * @param id the id of the member, which changes when a static member restarts
     * @param instance the instance id of a static member
     * @param offsets the offset of each active task with a changelog, or {@link Lags#UNKNOWN}
     * @param restoring the lag of each active task that counts as restoring
     */
    public record Report(
            String id,
            Optional<String> instance,
            String process,
            Map<Integer, Long> offsets,
            Map<Integer, Long> restoring) {}

    private final TaskTable tasks;
    private final Lags lags;
    private final Map<String, Report> last;
    private final long acceptable;
    private final Map<String, Report> reports = new HashMap<>();
    private final Map<String, Map<Integer, Long>> restoring = new HashMap<>();

    /**
     * Reads the members' reports.
     *
     * @param last the members' reports at the last call; if empty, no task counts as restoring
     * @param acceptable the lag up to which a copy counts as caught up, offsets
     */
    RestoringActives(TaskTable tasks, List<Member> members, Lags lags, Map<String, Report> last, long acceptable) {
        this.tasks = tasks;
        this.lags = lags;
        this.last = last;
        this.acceptable = acceptable;
        members.forEach(this::read);
    }

    private void read(Member member) {
        Map<Integer, Long> offsets = new HashMap<>();
        Map<Integer, Long> counted = new HashMap<>();
        for (int t : member.active()) {
            if (tasks.isLogged(t)) {
                long offset = lags.ofActive(member, t);
                offsets.put(t, offset);
                long lag = lags.endOffset(t) - Math.max(0, offset);
                if (isCounted(member, t, offset) && lags.endOffset(t) >= 0 && lag > acceptable) {
                    counted.put(t, lag);
                }
            }
        }
        reports.put(member.key(), new Report(member.id(), member.instance(), member.process(), offsets, counted));
        Map<Integer, Long> ofProcess = restoring.computeIfAbsent(member.process(), none -> new HashMap<>());
        ofProcess.putAll(counted);
        ofProcess.keySet().removeIf(t -> !lags.isCaughtUpElsewhere(member.process(), t, acceptable));
    }

    private boolean isCounted(Member member, int t, long offset) {
        Report before = last.get(member.key());
        if (before == null) {
            return member.instance().isPresent()
                    && last.values().stream().anyMatch(other -> isOnNewDisk(member, other, t));
        }
        if (offset < 0) {
            return false;
        }
        boolean isRestarted = !before.id().equals(member.id());
        boolean isFresh = before.offsets().containsKey(t) && before.offsets().get(t) != offset;
        return isRestarted || isFresh || before.restoring().containsKey(t);
    }

    private static boolean isOnNewDisk(Member member, Report before, int t) {
        return before.instance().equals(member.instance())
                && !before.process().equals(member.process())
                && before.offsets().containsKey(t);
    }

    /** Returns the members' reports at this call. */
    public Map<String, Report> reports() {
        return reports;
    }

    /** Returns the lags of a process's actives that restore in place while another process is caught up, by task. */
    Map<Integer, Long> of(String process) {
        return restoring.getOrDefault(process, Map.of());
    }
}
