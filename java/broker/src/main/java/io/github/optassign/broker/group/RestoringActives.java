package io.github.optassign.broker.group;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds active tasks that restore in place though another process has all of their state (KAFKA-13501).
 *
 * <p>A thread of Kafka Streams 4.4.0 tells its offset of an active task that it restores, and nothing of one that it
 * runs. Its report may be from before it had the task. So the offset is believed if the same thread had the task at the
 * last call, too, and told another one, or nothing, then. The coordinator calls no assignor when a static member
 * restarts, so what its successor tells is believed at the next call. A successor in another process is on a new disk.
 */
public final class RestoringActives {
    /**
     * The report of a member on its active tasks, to remember for the next call.
     *
     * @param id of the member; a static one has another after a restart
     * @param instance the id of a static member
     * @param offsets each of its active tasks with a changelog to the offset, or {@link Lags#UNKNOWN}
     * @param behind those that were believed to restore
     */
    public record Told(
            String id,
            Optional<String> instance,
            String process,
            Map<Integer, Long> offsets,
            Map<Integer, Long> behind) {}

    private final TaskTable tasks;
    private final Lags lags;
    private final Map<String, Told> last;
    private final long acceptable;
    private final Map<String, Told> told = new HashMap<>();
    private final Map<String, Map<Integer, Long>> behind = new HashMap<>();

    /**
     * Reads what members tell.
     *
     * @param last member to what it told at the last call; empty: nothing is remembered, so nothing is believed
     * @param acceptable offsets; who lags by no more has the state
     */
    RestoringActives(TaskTable tasks, List<Member> members, Lags lags, Map<String, Told> last, long acceptable) {
        this.tasks = tasks;
        this.lags = lags;
        this.last = last;
        this.acceptable = acceptable;
        members.forEach(this::read);
    }

    private void read(Member member) {
        Map<Integer, Long> offsets = new HashMap<>();
        Map<Integer, Long> believed = new HashMap<>();
        for (int t : member.active()) {
            if (tasks.isLogged(t)) {
                long offset = lags.ofActive(member, t);
                offsets.put(t, offset);
                long lag = lags.endOffset(t) - Math.max(0, offset);
                if (isBelieved(member, t, offset) && lags.endOffset(t) >= 0 && lag > acceptable) {
                    believed.put(t, lag);
                }
            }
        }
        told.put(member.key(), new Told(member.id(), member.instance(), member.process(), offsets, believed));
        Map<Integer, Long> ofProcess = behind.computeIfAbsent(member.process(), none -> new HashMap<>());
        ofProcess.putAll(believed);
        ofProcess.keySet().removeIf(t -> !lags.isReadyBeside(member.process(), t, acceptable));
    }

    private boolean isBelieved(Member member, int t, long offset) {
        Told before = last.get(member.key());
        if (before == null) {
            return member.instance().isPresent()
                    && last.values().stream().anyMatch(other -> isOnNewDisk(member, other, t));
        }
        if (offset < 0) {
            return false;
        }
        boolean isRestarted = !before.id().equals(member.id());
        boolean isFresh = before.offsets().containsKey(t) && before.offsets().get(t) != offset;
        return isRestarted || isFresh || before.behind().containsKey(t);
    }

    private static boolean isOnNewDisk(Member member, Told before, int t) {
        return before.instance().equals(member.instance())
                && !before.process().equals(member.process())
                && before.offsets().containsKey(t);
    }

    /** Member to what it told now. */
    public Map<String, Told> told() {
        return told;
    }

    /** Task to offsets left to replay, of a process's actives that restore in place while another process is ready. */
    Map<Integer, Long> of(String process) {
        return behind.getOrDefault(process, Map.of());
    }
}
