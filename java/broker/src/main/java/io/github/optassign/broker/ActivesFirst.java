package io.github.optassign.broker;

import io.github.optassign.model.Answer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.policy.WarmupPolicy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The postponement of standby moves to processes that restore their next active tasks. A thread restores all its copies
 * at the same time, so standbys would delay the actives and thereby the group's balance. The previous standby stays
 * until its successor is restored, so the move can wait for the next assignment.
 *
 * <p>A standby does not wait if a thread of the process would restore fewer copies than others without it. Nor does it
 * wait if the process already has state of the task, or if the task lacks a standby.
 */
final class ActivesFirst {
    private final Snapshot snapshot;
    private final RebalancePlanner.Result result;
    private final Placement placement;
    private final Ranks ranks;
    private final Set<String> idle = new HashSet<>();

    private ActivesFirst(Snapshot snapshot, RebalancePlanner.Result result) {
        this.snapshot = snapshot;
        this.result = result;
        placement = result.placement().copy();
        ranks = snapshot.ranks();
        result.progress().stream()
                .filter(copy -> copy.answersWithoutProgress() >= WarmupPolicy.PATIENCE)
                .forEach(copy -> idle.add(name(copy.task(), copy.processId())));
    }

    /** Returns the result without the warm-ups that wait; the same object if it has no plan or no warm-ups. */
    static RebalancePlanner.Result apply(Snapshot snapshot, RebalancePlanner.Result result) {
        return result.plan() == null || result.placement().warmupCount() == 0
                ? result
                : new ActivesFirst(snapshot, result).apply();
    }

    private RebalancePlanner.Result apply() {
        int[] nextActives = new int[snapshot.clientCount()];
        int[] others = new int[nextActives.length];
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : placement.warmup()[t]) {
                if (result.plan().active()[t] == c && isRestoring(t, c)) {
                    nextActives[c]++;
                } else if (isRestoring(t, c) && !mayWait(t, c)) {
                    others[c]++;
                }
            }
            for (int c : placement.standby()[t]) {
                others[c] += isRestoring(t, c) ? 1 : 0;
            }
        }
        Set<String> waiting = new HashSet<>();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            for (int c : placement.warmup()[t].clone()) {
                int threads = snapshot.threads(c);
                int rounds = (nextActives[c] + threads - 1) / threads;
                if (nextActives[c] > 0 && mayWait(t, c) && nextActives[c] + ++others[c] > rounds * threads) {
                    placement.warmup()[t] = without(placement.warmup()[t], c);
                    waiting.add(name(snapshot.taskName(t), snapshot.clientName(c)));
                }
            }
        }
        List<Answer.Progress> progress = result.progress().stream()
                .filter(copy -> !waiting.contains(name(copy.task(), copy.processId())))
                .toList();
        return result.withCopies(placement, result.plan(), progress);
    }

    private static int[] without(int[] clients, int c) {
        return Arrays.stream(clients).filter(client -> client != c).toArray();
    }

    /** Returns whether a copy has offsets to replay and has made progress in recent answers. */
    private boolean isRestoring(int t, int c) {
        return ranks.rank(t, c) > 0 && !idle.contains(name(snapshot.taskName(t), snapshot.clientName(c)));
    }

    private boolean mayWait(int t, int c) {
        return result.plan().active()[t] != c
                && ranks.rank(t, c) > 0
                && !snapshot.isHolder(t, c)
                && placement.standby()[t].length >= snapshot.standbysPerTask();
    }

    private static String name(String task, String process) {
        return task + " " + process;
    }
}
