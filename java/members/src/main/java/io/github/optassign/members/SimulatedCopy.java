package io.github.optassign.members;

import java.util.Map;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;

/**
 * A copy of a task on a member: an active that restores and then runs, or a standby or warm-up that restores and is
 * then ready.
 */
final class SimulatedCopy {
    /** The roles of a copy. */
    enum Role {
        ACTIVE,
        STANDBY,
        WARMUP
    }

    private final TaskId task;
    private final Role role;
    private final SimulatedMember member;
    private String state = "";

    SimulatedCopy(TaskId task, Role role, SimulatedMember member) {
        this.task = task;
        this.role = role;
        this.member = member;
    }

    TaskId task() {
        return task;
    }

    Role role() {
        return role;
    }

    boolean isRunning() {
        return state.equals("running");
    }

    /** Sets the copy's state, and logs an event if it has changed. */
    void enter(String next) {
        if (!next.equals(state)) {
            state = next;
            EventLog.write(
                    "copy",
                    Map.of(
                            "task", task.subtopologyId() + "_" + task.partitionId(),
                            "process", member.processName(),
                            "member", member.id(),
                            "role", role.name().toLowerCase(),
                            "state", state));
        }
    }
}
