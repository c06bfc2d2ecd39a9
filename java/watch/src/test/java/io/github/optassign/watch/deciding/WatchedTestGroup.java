package io.github.optassign.watch.deciding;

import io.github.optassign.watch.deciding.Decision.Action;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** A synthetic group with two threads per process, whose tasks have a changelog by default. */
final class WatchedTestGroup {
    static final long ACCEPTABLE = 1000;

    final Map<String, Long> units = new TreeMap<>();
    final Map<String, Set<String>> members = new TreeMap<>();
    final Map<TaskId, Boolean> tasks = new TreeMap<>();
    final Map<TaskId, List<String>> active = new TreeMap<>();
    final Map<TaskId, Set<String>> standby = new TreeMap<>();
    final Map<Copy, Long> lags = new HashMap<>();
    final Map<Copy, RestoringActive> restoring = new TreeMap<>();
    GroupView.Phase phase = GroupView.Phase.STABLE;
    int standbys;
    int epoch = 1;
    Object progress = 0;
    boolean isConfigChanged;
    WatchMemory memory = WatchMemory.none();

    /** Returns six tasks on a and b; c has joined, and warms up 0_0 and 0_3. */
    static WatchedTestGroup joined() {
        WatchedTestGroup group = new WatchedTestGroup().processes("a", "b", "c");
        for (int p = 0; p < 6; p++) {
            group.task(task(p), p < 3 ? "a" : "b");
        }
        return group.standby(task(0), "c", 50_000).standby(task(3), "c", 50_000);
    }

    static TaskId task(int partition) {
        return new TaskId("0", partition);
    }

    WatchedTestGroup processes(String... names) {
        for (String name : names) {
            units.put(name, 2L);
            members.put(name, Set.of(name + "-1", name + "-2"));
        }
        return this;
    }

    /** Restarts a process: it comes back with its id, its disk and new members. */
    void restart(String process) {
        members.put(process, Set.of(process + "-3", process + "-4"));
    }

    WatchedTestGroup task(TaskId task, String owner) {
        tasks.put(task, true);
        active.put(task, new ArrayList<>(List.of(owner)));
        return this;
    }

    /**
     * Adds a standby.
     *
     * @param lag the lag, offsets; negative if unknown
     */
    WatchedTestGroup standby(TaskId task, String process, long lag) {
        standby.computeIfAbsent(task, none -> new TreeSet<>()).add(process);
        lags.put(new Copy(task, process), lag);
        if (lag < 0) {
            lags.remove(new Copy(task, process));
        }
        return this;
    }

    /** Assigns as optassign's assignor does: an active moves to its caught-up warm-up. */
    void assign() {
        epoch++;
        standby.forEach((task, processes) -> {
            String ready = processes.stream()
                    .filter(process -> lags.getOrDefault(new Copy(task, process), Long.MAX_VALUE) <= ACCEPTABLE)
                    .findFirst()
                    .orElse(null);
            if (processes.size() > standbys && ready != null) {
                active.get(task).set(0, ready);
                processes.remove(ready);
            }
        });
    }

    /** Looks at the group, and carries the decision out. The coordinator does not answer yet. */
    Decision look(TriggerRules rules, long nowMs) {
        Decision decision = rules.decide(view(), memory, nowMs);
        memory = decision.next();
        isConfigChanged ^= changesConfig(decision);
        return decision;
    }

    static boolean changesConfig(Decision decision) {
        return decision.action() == Action.TRIGGER || decision.action() == Action.RESTORE;
    }

    GroupView view() {
        Map<TaskId, List<String>> owners = new TreeMap<>();
        active.forEach((task, of) -> owners.put(task, List.copyOf(of)));
        Map<TaskId, Set<String>> others = new TreeMap<>();
        standby.forEach((task, of) -> others.put(task, Set.copyOf(of)));
        return new GroupView(
                phase,
                epoch,
                Map.copyOf(units),
                Map.copyOf(members),
                standbys,
                Map.copyOf(tasks),
                owners,
                others,
                Map.copyOf(lags),
                Map.copyOf(restoring),
                progress,
                isConfigChanged);
    }
}
