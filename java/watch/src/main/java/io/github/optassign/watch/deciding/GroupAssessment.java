package io.github.optassign.watch.deciding;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** The assessment of a group at one look: its warm-ups, the copies that are caught up, its balance and its faults. */
public final class GroupAssessment {
    /** The most faults of an assignment in a line, so that the line stays readable. */
    private static final int MOST_FAULTS = 3;

    /**
     * The lag assumed for a copy whose lag is unknown: more than any changelog has, and small enough to be summed a
     * million times.
     */
    private static final long UNKNOWN_LAG = 1L << 42;

    private final GroupView view;
    private final long acceptable;
    private final int standbysPossible;
    private final ActiveBalance balance;
    private final ActiveBalance statefulBalance;
    private final Set<Copy> standbys = new HashSet<>();

    public GroupAssessment(GroupView view, long acceptable) {
        this.view = view;
        this.acceptable = acceptable;
        standbysPossible = Math.max(0, Math.min(view.standbys(), view.units().size() - 1));
        view.standby()
                .forEach((task, processes) -> processes.forEach(process -> standbys.add(new Copy(task, process))));
        balance = ActiveBalance.ofAll(view.units(), owners(view.active().keySet()));
        statefulBalance = ActiveBalance.ofStateful(
                view.units(),
                owners(view.active().keySet().stream().filter(this::isLogged).toList()));
    }

    private List<String> owners(Collection<TaskId> tasks) {
        return tasks.stream().map(this::owner).filter(Objects::nonNull).toList();
    }

    /** Returns the process on which a task is active, or null if there is none. */
    private String owner(TaskId task) {
        List<String> owners = view.active().getOrDefault(task, List.of());
        return owners.isEmpty() ? null : owners.get(0);
    }

    private boolean isLogged(TaskId task) {
        return view.tasks().getOrDefault(task, false);
    }

    private boolean hasWarmup(TaskId task) {
        return isLogged(task) && view.standby().getOrDefault(task, Set.of()).size() > standbysPossible;
    }

    /** Returns the tasks with more standbys than configured, one of which is a warm-up. */
    public Set<TaskId> tasksWithWarmups() {
        Set<TaskId> found = new TreeSet<>(view.standby().keySet());
        found.removeIf(task -> !hasWarmup(task));
        return found;
    }

    /** Returns all standbys and warm-ups. */
    Set<Copy> standbys() {
        return Set.copyOf(standbys);
    }

    /** Returns the copies with a known lag of at most the acceptable one. */
    Set<Copy> caughtUp() {
        Set<Copy> found = new HashSet<>(standbys);
        found.removeIf(copy -> view.lags().getOrDefault(copy, Long.MAX_VALUE) > acceptable);
        return found;
    }

    /** Returns the copies with a known lag above the acceptable one. */
    Set<Copy> lagging() {
        Set<Copy> found = new HashSet<>(standbys);
        found.removeIf(copy -> view.lags().getOrDefault(copy, 0L) <= acceptable);
        return found;
    }

    /**
     * Returns the copies that are presumably standbys of the plan: they are caught up, and another copy of their task
     * warms up.
     */
    Set<Copy> plannedStandbys() {
        Set<Copy> ready = caughtUp();
        Map<TaskId, Integer> counts = new HashMap<>();
        ready.forEach(copy -> counts.merge(copy.task(), 1, Integer::sum));
        ready.removeIf(copy -> !hasWarmup(copy.task()) || counts.get(copy.task()) > standbysPossible);
        return ready;
    }

    /**
     * Returns the caught-up copies that could become active with an effect: a copy of the task warms up, or balance
     * would improve.
     */
    Set<Copy> promotable() {
        Set<Copy> found = caughtUp();
        found.removeIf(copy -> !hasWarmup(copy.task()) && !gains(copy));
        return found;
    }

    /** Returns whether all standbys and warm-ups of tasks with warm-ups have caught up. */
    boolean isAllCaughtUp() {
        Set<Copy> ready = caughtUp();
        return standbys.stream().allMatch(copy -> !hasWarmup(copy.task()) || ready.contains(copy));
    }

    private boolean gains(Copy copy) {
        String owner = owner(copy.task());
        return owner != null
                && (balance.gains(owner, copy.process())
                        || isLogged(copy.task()) && statefulBalance.gains(owner, copy.process()));
    }

    /** Returns whether counts of all actives and of stateful actives are within their shares. */
    boolean isBalanced() {
        return balance.isBalanced() && statefulBalance.isBalanced();
    }

    private boolean hasAllStandbys() {
        return view.tasks().entrySet().stream()
                .filter(Map.Entry::getValue)
                .allMatch(task ->
                        view.standby().getOrDefault(task.getKey(), Set.of()).size() >= standbysPossible);
    }

    /** Returns whether an assignment would have no effect: no warm-ups, balanced actives, all standbys, no faults. */
    public boolean isDone() {
        return tasksWithWarmups().isEmpty() && isBalanced() && hasAllStandbys() && faults().isEmpty();
    }

    /**
     * Returns the number of offsets that standbys and warm-ups of tasks with warm-ups still have to replay. An unknown
     * lag counts as more than any known lag.
     */
    long remaining() {
        long sum = 0;
        for (Copy copy : standbys) {
            if (hasWarmup(copy.task())) {
                sum += Math.min(UNKNOWN_LAG, view.lags().getOrDefault(copy, UNKNOWN_LAG));
            }
        }
        return sum;
    }

    /** Returns descriptions of the first faults of the target, at most {@link #MOST_FAULTS}. */
    List<String> faults() {
        List<String> found = new ArrayList<>();
        for (TaskId task : new TreeSet<>(view.tasks().keySet())) {
            List<String> owners = view.active().getOrDefault(task, List.of());
            Set<String> others = view.standby().getOrDefault(task, Set.of());
            if (owners.isEmpty()) {
                found.add("task " + task + " is active nowhere");
            } else if (owners.size() > 1) {
                found.add("task " + task + " is active " + owners.size() + " times");
            }
            if (!isLogged(task) && !others.isEmpty()) {
                found.add("task " + task + " has a standby, but no changelog");
            }
            if (owners.stream().anyMatch(others::contains)) {
                found.add("task " + task + " is active and standby in one process");
            }
            if (found.size() >= MOST_FAULTS) {
                break;
            }
        }
        return found;
    }
}
