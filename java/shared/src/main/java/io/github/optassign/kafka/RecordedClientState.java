package io.github.optassign.kafka;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;

/**
 * A ClientState that records which of its standbys are warm-ups. HighAvailabilityTaskAssignor does not distinguish
 * them.
 *
 * <p>The assignor first places actives and standbys as planned, then reads lags, then moves copies away from clients
 * that lag (TaskMovement). The first read of a lag therefore ends the first phase. In the second phase, let D be the
 * planned client of a copy (the movement's destination) and S the client that gets the copy for now:
 *
 * <ul>
 *   <li>An active moves: S.assignActive, D.unassignActive and, while there are slots, D.assignStandby: D's copy is a
 *       warm-up.
 *   <li>An active and a standby swap: the same calls, but S had the standby before: D's copy is the standby.
 *   <li>A standby moves: S.assignStandby and, once there are no more slots, D.unassignStandby. A copy that stays on D
 *       is a warm-up, without a call on D.
 * </ul>
 *
 * The identity of the task id tells which D belongs to a call on S: each client keeps its own copies of task ids, and
 * TaskMovement takes the id of a movement from D's tasks. A copy that D loses and gets back, as the S of another
 * movement, is a new object, so it is a standby.
 */
final class RecordedClientState extends ClientState {
    private final Recording recording;
    /** The planned actives; null during the first phase, and always null without logged tasks. */
    private Set<TaskId> plannedActives;
    /** The planned standbys; null during the first phase, and always null without logged tasks. */
    private Set<TaskId> plannedStandbys;
    /**
     * The copies on this client, by identity, that are warm-ups if the client still has them after the second phase.
     */
    private final Set<TaskId> keptAsWarmups = Collections.newSetFromMap(new IdentityHashMap<>());

    /** The state that the clients of one rebalance share. */
    static final class Recording {
        /** The client that keeps each task id, by the id's identity. */
        private final Map<TaskId, RecordedClientState> keepers = new IdentityHashMap<>();
        /** The client that got the active copy of each task in a movement. */
        private final Map<TaskId, RecordedClientState> takers = new HashMap<>();
    }

    RecordedClientState(Recording recording, ProcessId processId, DefaultAssignor.Client client) {
        super(
                client.previousActive(),
                client.previousStandby(),
                client.lags(),
                client.tags(),
                client.threads(),
                processId);
        this.recording = recording;
    }

    @Override
    public long lagFor(TaskId task) {
        if (plannedStandbys == null) {
            plannedActives = new HashSet<>(activeTasks());
            plannedStandbys = new HashSet<>(standbyTasks());
        }
        return super.lagFor(task);
    }

    @Override
    public void assignActive(TaskId task) {
        super.assignActive(copyId(task));
        if (plannedStandbys != null) {
            recording.takers.put(task, this);
        }
    }

    @Override
    public void assignStandby(TaskId task) {
        TaskId copy = copyId(task);
        super.assignStandby(copy);
        if (plannedStandbys == null) {
            return;
        }
        RecordedClientState destination = recording.keepers.get(task);
        if (destination != this) {
            destination.keptAsWarmups.add(task);
        } else if (!recording.takers.get(task).plannedStandbys.contains(task)) {
            keptAsWarmups.add(copy);
        }
    }

    /** Returns the standby copies that are warm-ups, after the assignor's call. */
    SortedSet<TaskId> warmups() {
        SortedSet<TaskId> warmups = new TreeSet<>();
        for (TaskId copy : standbyTasks()) {
            if (keptAsWarmups.contains(copy)) {
                warmups.add(copy);
            }
        }
        return warmups;
    }

    /**
     * Returns the planned actives of this client, after the assignor's call. Tasks with a changelog count where the
     * assignor planned them, the others where it assigned them, as it places these last.
     *
     * @param logged the tasks with a changelog
     */
    SortedSet<TaskId> plannedActive(Set<TaskId> logged) {
        SortedSet<TaskId> planned = new TreeSet<>(activeTasks());
        if (plannedActives != null) {
            planned.removeAll(logged);
            planned.addAll(plannedActives);
        }
        return planned;
    }

    /** Returns the planned standbys of this client, after the assignor's call. */
    SortedSet<TaskId> plannedStandby() {
        return new TreeSet<>(plannedStandbys == null ? standbyTasks() : plannedStandbys);
    }

    private TaskId copyId(TaskId task) {
        TaskId copy = new TaskId(task.subtopology(), task.partition(), task.topologyName());
        recording.keepers.put(copy, this);
        return copy;
    }
}
