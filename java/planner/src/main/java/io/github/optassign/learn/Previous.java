package io.github.optassign.learn;

import io.github.optassign.model.Answer;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The assignment before a rebalance, from the clients' lists and from memory.
 *
 * <p>Kafka lists every task directory on a client's disk as a previous standby, those of dropped copies too, so only
 * the memory knows which copies were assigned. A task in transit is active nowhere: its old owner has given it up and
 * the new one does not have it yet (KIP-429), and only the memory knows which client is to have it.
 */
public final class Previous {
    /**
     * The last progress of a copy that an answer waited for.
     *
     * @param lag offsets left to replay, or -1 if not known
     * @param idleAnswers the number of answers over which the lag has not fallen
     * @param underWayMs for how long it had been assigned at the last answer
     */
    public record Progress(long lag, int idleAnswers, long underWayMs) {}

    private final Snapshot snapshot;
    private final Placement remembered;
    private final Placement plan;
    private final Pace pace;
    /**
     * The delay of the follow-up that the last answer asked for on the way to its plan, ms; null if it asked for none.
     */
    private final Long askedMs;

    private final boolean planIsBinding;
    private final boolean sameGroup;
    private final Map<Long, Progress> progress = new HashMap<>();
    private final int[] owner;
    private final boolean[] inTransit;
    private boolean anyInTransit;

    /**
     * Works out the previous assignment.
     *
     * @param applied the last applied answer, or null if there is none
     */
    public Previous(Snapshot snapshot, AppliedAnswer applied) {
        this.snapshot = snapshot;
        remembered = applied == null ? null : toPlacement(applied.answer().clients());
        plan = applied == null ? null : findPlan(applied.answer());
        pace = applied == null ? null : applied.answer().pace();
        askedMs = applied == null || applied.answer().plan() == null ? null : findFirstFollowup(applied.answer());
        boolean noneIsNew = applied != null && hasNoNewSize(applied.sizes());
        sameGroup = noneIsNew && applied.sizes().size() == snapshot.clientCount();
        planIsBinding = noneIsNew && !applied.answer().isPlanners();
        if (applied != null) {
            rememberProgress(applied.answer());
        }
        owner = new int[snapshot.taskCount()];
        inTransit = new boolean[owner.length];
        Arrays.fill(owner, -1);
        for (int t = 0; t < owner.length; t++) {
            findOwner(t);
        }
    }

    private static Long findFirstFollowup(Answer answer) {
        return answer.clients().stream()
                .map(Answer.Client::followupMs)
                .filter(Objects::nonNull)
                .min(Long::compare)
                .orElse(null);
    }

    private void rememberProgress(Answer answer) {
        for (Answer.Progress seen : answer.progress()) {
            Integer t = snapshot.taskIndex(seen.task());
            Integer c = snapshot.clientIndex(seen.processId());
            if (t != null && c != null) {
                progress.put(key(t, c), new Progress(seen.lag(), seen.answersWithoutProgress(), seen.underWayMs()));
            }
        }
    }

    /**
     * Among the clients that list the task as active: the remembered one, otherwise one that runs it, otherwise the
     * least id.
     */
    private void findOwner(int t) {
        int first = -1;
        int running = -1;
        for (int c : snapshot.owners(t)) {
            first = first < 0 ? c : first;
            running = running < 0 && snapshot.lag(t, c) == Snapshot.RUNNING ? c : running;
        }
        int last = remembered == null ? -1 : remembered.active()[t];
        if (first < 0) {
            owner[t] = last;
            inTransit[t] = last >= 0;
            anyInTransit |= last >= 0;
        } else if (last >= 0 && snapshot.wasActive(t, last)) {
            owner[t] = last;
        } else {
            owner[t] = running >= 0 ? running : first;
        }
    }

    /** Turns ids into indices, and leaves out tasks and clients that are gone and copies that may not be. */
    private Placement toPlacement(Iterable<Answer.Client> clients) {
        Placement placement = Placement.empty(snapshot.taskCount());
        for (Answer.Client client : clients) {
            Integer c = snapshot.clientIndex(client.processId());
            if (c == null) {
                continue;
            }
            for (String name : client.active()) {
                Integer t = snapshot.taskIndex(name);
                if (t != null) {
                    placement.active()[t] = c;
                }
            }
            for (String name : client.standby()) {
                Integer t = snapshot.taskIndex(name);
                if (t != null && snapshot.isLogged(t) && placement.active()[t] != c && !placement.hasStandby(t, c)) {
                    placement.addStandby(t, c);
                }
            }
            for (String name : client.warmup()) {
                Integer t = snapshot.taskIndex(name);
                if (t != null && snapshot.isLogged(t) && !placement.hasCopy(t, c) && !placement.hasWarmup(t, c)) {
                    placement.addWarmup(t, c);
                }
            }
        }
        return placement;
    }

    /** Returns whether every client was there, of the same size and as set to stay, when the last answer was given. */
    private boolean hasNoNewSize(Map<String, Long> sizes) {
        return IntStream.range(0, snapshot.clientCount())
                .allMatch(c ->
                        Long.valueOf(AppliedAnswer.signedSize(snapshot, c)).equals(sizes.get(snapshot.clientName(c))));
    }

    /** Returns the remembered plan, if all copies of every task are on clients that are there. */
    private Placement findPlan(Answer answer) {
        Placement found = answer.plan() == null ? remembered : toPlacement(answer.plan());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int standbys = snapshot.isLogged(t) ? snapshot.standbysPerTask() : 0;
            if (found.active()[t] < 0
                    || found.standby()[t].length != standbys
                    || found.hasStandby(t, found.active()[t])) {
                return null;
            }
        }
        return found;
    }

    /** Returns the last applied answer, reduced to present tasks and clients, or null if there is none. */
    public Placement remembered() {
        return remembered;
    }

    /**
     * Returns the remembered plan, if its clients are still there, or null if there is none. Its warm-ups, if any, do
     * not matter.
     */
    public Placement plan() {
        return plan;
    }

    /** Returns the client that had the task or, if it is in transit, is to have it, or -1 if there is none. */
    public int owner(int t) {
        return owner[t];
    }

    public boolean isInTransit(int t) {
        return inTransit[t];
    }

    public boolean isAnyInTransit() {
        return anyInTransit;
    }

    /** Returns whether the clients are those of the last answer, with as many threads. */
    public boolean isSameGroup() {
        return sameGroup;
    }

    /**
     * Returns whether the remembered plan is the service's, for this group or for one that has lost only clients with
     * no copy in the plan. It knows more than a new plan of the planner's would: which clients drain, racks, weights.
     */
    public boolean isPlanBinding() {
        return planIsBinding;
    }

    /**
     * Returns which client had which copy before, if all of it is known: owners, and by memory the standbys. If there
     * is no memory, directories are taken for standbys if each task has exactly as many as it must have. Null: not
     * known.
     */
    public Placement assigned() {
        Placement before = Placement.empty(snapshot.taskCount());
        for (int t = 0; t < owner.length; t++) {
            before.active()[t] = owner[t];
            for (int c : standbys(t)) {
                if (c != owner[t] && snapshot.isLogged(t) && hadStandby(t, c)) {
                    before.addStandby(t, c);
                }
            }
            int wanted = snapshot.isLogged(t) ? snapshot.standbysPerTask() : 0;
            if (owner[t] < 0 || before.standby()[t].length != wanted) {
                return null;
            }
        }
        return before;
    }

    /** Returns whether the client had a standby: by memory, otherwise by the directory on its disk. */
    public boolean hadStandby(int t, int c) {
        return remembered != null ? remembered.hasStandby(t, c) : snapshot.wasStandby(t, c);
    }

    /** Returns the clients that {@link #hadStandby}, sorted, and maybe others. */
    public int[] standbys(int t) {
        return remembered != null ? remembered.standby()[t] : snapshot.holders(t);
    }

    /** Returns whether the last answer warmed the task up on the client. */
    public boolean hadWarmup(int t, int c) {
        return remembered != null && remembered.hasWarmup(t, c);
    }

    /** Returns whether the last answer gave the client any copy of the task, so that its lag could fall. */
    public boolean hadAnyCopy(int t, int c) {
        return remembered != null && (remembered.hasCopy(t, c) || remembered.hasWarmup(t, c));
    }

    /** Returns the last progress of a copy that the last answers waited for, or null if they did not wait for it. */
    public Progress progress(int t, int c) {
        return progress.get(key(t, c));
    }

    /** Learns from the time since the last answer, in addition to that answer's rates. */
    public Rates learnRates(Ranks ranks, Timing timing) {
        long acceptable = snapshot.configs().acceptableRecoveryLag();
        List<Rates.Tried> tried = new ArrayList<>();
        progress.forEach((key, seen) -> {
            int t = (int) (key / snapshot.clientCount());
            int c = (int) (key % snapshot.clientCount());
            if (seen.lag() > acceptable && hadAnyCopy(t, c)) {
                tried.add(new Rates.Tried(t, c, seen.lag(), seen.underWayMs()));
            }
        });
        return Rates.after(
                new Rates.Before(pace, tried, !progress.isEmpty(), anyInTransit, askedMs), snapshot, ranks, timing);
    }

    /** Returns for how long the copy has been assigned, {@code elapsedMs} after the last answer; 0 if it is new. */
    public long underWayMs(int t, int c, long elapsedMs) {
        Progress before = progress(t, c);
        return before == null || !hadAnyCopy(t, c) ? 0 : before.underWayMs() + elapsedMs;
    }

    private long key(int t, int c) {
        return (long) t * snapshot.clientCount() + c;
    }
}
