package io.github.optassign.watch.deciding;

import io.github.optassign.policy.WatchPolicy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** The judgement on a group at one reading: the awaited copies, the ready ones, and the faults. */
public final class Judgement {
    /** More offsets than a changelog has, and so few that a million of them still add up. */
    private static final long NOT_KNOWN = 1L << 42;

    private final GroupView view;
    private final long acceptable;
    private final int standbysPossible;
    private final ActiveBalance balance;
    private final ActiveBalance statefulBalance;
    private final Set<Copy> standbys = new HashSet<>();

    public Judgement(GroupView view, long acceptable) {
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

    /** Null: nobody. */
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

    /** Tasks with more standbys than are asked for: one of them warms up. */
    public Set<TaskId> tasksWithWarmups() {
        Set<TaskId> found = new TreeSet<>(view.standby().keySet());
        found.removeIf(task -> !hasWarmup(task));
        return found;
    }

    /** All copies that are no active ones. */
    Set<Copy> standbys() {
        return Set.copyOf(standbys);
    }

    /** The copies that are known to be within the acceptable lag. */
    Set<Copy> caughtUp() {
        Set<Copy> found = new HashSet<>(standbys);
        found.removeIf(copy -> view.lags().getOrDefault(copy, Long.MAX_VALUE) > acceptable);
        return found;
    }

    /** The copies that are known to be further behind. */
    Set<Copy> lagging() {
        Set<Copy> found = new HashSet<>(standbys);
        found.removeIf(copy -> view.lags().getOrDefault(copy, 0L) <= acceptable);
        return found;
    }

    /** The likely wanted standbys: caught up, while the warm-up of their task is not. */
    Set<Copy> orderedStandbys() {
        Set<Copy> ready = caughtUp();
        Map<TaskId, Integer> counts = new HashMap<>();
        ready.forEach(copy -> counts.merge(copy.task(), 1, Integer::sum));
        ready.removeIf(copy -> !hasWarmup(copy.task()) || counts.get(copy.task()) > standbysPossible);
        return ready;
    }

    /** Caught up, and there is a reason to make the task active there: it warms up, or balance would gain. */
    Set<Copy> couldLead() {
        Set<Copy> found = caughtUp();
        found.removeIf(copy -> !hasWarmup(copy.task()) && !gains(copy));
        return found;
    }

    /** Whether no warm-up is still behind, so that nothing more is to be waited for. */
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

    boolean isBalanced() {
        return balance.isKept() && statefulBalance.isKept();
    }

    private boolean hasAllStandbys() {
        return view.tasks().entrySet().stream()
                .filter(Map.Entry::getValue)
                .allMatch(task ->
                        view.standby().getOrDefault(task.getKey(), Set.of()).size() >= standbysPossible);
    }

    /** Whether no assignment is to be expected to change anything: nothing warms up, and all is in place. */
    public boolean isDone() {
        return tasksWithWarmups().isEmpty() && isBalanced() && hasAllStandbys() && faults().isEmpty();
    }

    /** The offsets that tasks with warm-ups have left to replay, less is nearer. Not known is more than any. */
    long remaining() {
        long sum = 0;
        for (Copy copy : standbys) {
            if (hasWarmup(copy.task())) {
                sum += Math.min(NOT_KNOWN, view.lags().getOrDefault(copy, NOT_KNOWN));
            }
        }
        return sum;
    }

    /** The faults of the target itself, in words; the first few. */
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
            if (found.size() >= WatchPolicy.MOST_FAULTS) {
                break;
            }
        }
        return found;
    }
}
