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
 * A ClientState that knows which of its standby copies are warm-ups. HighAvailabilityTaskAssignor does not say: to
 * Kafka both are standbys.
 *
 * <p>The assignor first places actives and standbys as they should be in the end, then reads lags, then moves copies
 * away from clients that lag (TaskMovement). The first reading of a lag therefore ends the first part. In the second, D
 * is the client where a copy belongs (the movement's destination) and S the one that gets it for now:
 *
 * <ul>
 *   <li>An active moves: S.assignActive, D.unassignActive and, while there are slots, D.assignStandby: D's copy is a
 *       warm-up.
 *   <li>An active and a standby swap: the same calls, but S had the standby before: D's copy is the standby.
 *   <li>A standby migrations: S.assignStandby and, once there are no more slots, D.unassignStandby. A copy that stays on D
 *       is a warm-up; D is told nothing.
 * </ul>
 *
 * Which D a call on S belongs to is told by the identity of the task id: each client keeps task ids of its own, equal
 * to those it is given, and TaskMovement takes the id of a movement from D's tasks. A copy that D loses and gets back,
 * as the S of another movement, is a new object, so it is a standby.
 */
final class RecordedClientState extends ClientState {
    private final Recording recording;
    /** The actives when the first part ended, which are those of the end; null before, and without logged tasks. */
    private Set<TaskId> plannedActives;
    /** The same of standbys. */
    private Set<TaskId> plannedStandbys;
    /** Copies on this client, by identity, that are warm-ups if they are still here in the end. */
    private final Set<TaskId> keptToWarmUp = Collections.newSetFromMap(new IdentityHashMap<>());

    /** The state that the clients of one rebalance share. */
    static final class Recording {
        /** Task id, by identity, to the client that keeps this object. */
        private final Map<TaskId, RecordedClientState> keepers = new IdentityHashMap<>();
        /** Task to the client that got its active copy in a movement. */
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
            destination.keptToWarmUp.add(task);
        } else if (!recording.takers.get(task).plannedStandbys.contains(task)) {
            keptToWarmUp.add(copy);
        }
    }

    /** The standby copies that are warm-ups, once the assignor is done. */
    SortedSet<TaskId> warmups() {
        SortedSet<TaskId> warmups = new TreeSet<>();
        for (TaskId copy : standbyTasks()) {
            if (keptToWarmUp.contains(copy)) {
                warmups.add(copy);
            }
        }
        return warmups;
    }

    /**
     * The actives of this client in the end, once the assignor is done.
     *
     * @param logged tasks with a changelog; the others are placed last, and stay where they are put
     */
    SortedSet<TaskId> plannedActive(Set<TaskId> logged) {
        SortedSet<TaskId> planned = new TreeSet<>(activeTasks());
        if (plannedActives != null) {
            planned.removeAll(logged);
            planned.addAll(plannedActives);
        }
        return planned;
    }

    /** The standbys of this client in the end, once the assignor is done. */
    SortedSet<TaskId> plannedStandby() {
        return new TreeSet<>(plannedStandbys == null ? standbyTasks() : plannedStandbys);
    }

    private TaskId copyId(TaskId task) {
        TaskId copy = new TaskId(task.subtopology(), task.partition(), task.topologyName());
        recording.keepers.put(copy, this);
        return copy;
    }
}
