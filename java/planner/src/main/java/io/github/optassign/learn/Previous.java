package io.github.optassign.learn;

import io.github.optassign.model.Answer;
import io.github.optassign.model.Pace;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.Arrays;
import java.util.Collection;
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
    public record Progress(int task, int client, long lag, int idleAnswers, long underWayMs) {}

    private final Snapshot snapshot;
    private final Placement remembered;
    private final Placement plan;
    private final Pace pace;
    private final Long askedFollowupMs;
    private final boolean planIsBinding;
    private final boolean sameGroup;
    private final Map<Long, Progress> progress = new HashMap<>();
    private final int[] owner;

    /** Works out the previous assignment from the last applied answer, null if there is none. */
    public Previous(Snapshot snapshot, AppliedAnswer applied) {
        this.snapshot = snapshot;
        Answer last = applied == null ? null : applied.answer();
        remembered = last == null ? null : toPlacement(last.clients());
        plan = last == null ? null : findPlan(last);
        pace = last == null ? null : last.pace();
        askedFollowupMs = last == null || last.plan() == null ? null : findShortestFollowupMs(last);
        boolean areAllKnown = last != null && areAllClientsKnown(applied.sizes());
        sameGroup = areAllKnown && applied.sizes().size() == snapshot.clientCount();
        planIsBinding = areAllKnown && !last.isByPlanner();
        if (last != null) {
            rememberProgress(last);
        }
        owner = IntStream.range(0, snapshot.taskCount()).map(this::findOwner).toArray();
    }

    private static Long findShortestFollowupMs(Answer answer) {
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
                progress.put(
                        key(t, c), new Progress(t, c, seen.lag(), seen.answersWithoutProgress(), seen.underWayMs()));
            }
        }
    }

    /**
     * Returns the remembered owner if it lists the task as active or no client does; otherwise a client that lists and
     * runs the task, or the first that lists it; -1 if there is none.
     */
    private int findOwner(int t) {
        int[] owners = snapshot.owners(t);
        int last = remembered == null ? -1 : remembered.active()[t];
        if (owners.length == 0 || (last >= 0 && snapshot.wasActive(t, last))) {
            return last;
        }
        return Arrays.stream(owners)
                .filter(c -> snapshot.lag(t, c) == Snapshot.RUNNING)
                .findFirst()
                .orElse(owners[0]);
    }

    /** Turns ids into indices, and leaves out tasks and clients that are gone and copies that may not be. */
    private Placement toPlacement(List<Answer.Client> clients) {
        Placement placement = Placement.empty(snapshot.taskCount());
        for (Answer.Client client : clients) {
            Integer c = snapshot.clientIndex(client.processId());
            if (c != null) {
                listTasks(client.active()).forEach(t -> placement.active()[t] = c);
                listTasks(client.standby())
                        .filter(t -> snapshot.isLogged(t) && !placement.hasCopy(t, c))
                        .forEach(t -> placement.addStandby(t, c));
                listTasks(client.warmup())
                        .filter(t -> snapshot.isLogged(t) && !placement.hasCopy(t, c) && !placement.hasWarmup(t, c))
                        .forEach(t -> placement.addWarmup(t, c));
            }
        }
        return placement;
    }

    private IntStream listTasks(List<String> names) {
        return names.stream().map(snapshot::taskIndex).filter(Objects::nonNull).mapToInt(t -> t);
    }

    /** Returns whether every client was there, of the same size and as set to stay, when the last answer was given. */
    private boolean areAllClientsKnown(Map<String, Long> sizes) {
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

    /** Returns the remembered plan, if its clients are still there, or null; its warm-ups do not matter. */
    public Placement plan() {
        return plan;
    }

    /** Returns the client that had the task or, if it is in transit, is to have it, or -1 if there is none. */
    public int owner(int t) {
        return owner[t];
    }

    /** Returns whether no client lists the task as active, though the last answer gave it to a present client. */
    public boolean isInTransit(int t) {
        return owner[t] >= 0 && snapshot.owners(t).length == 0;
    }

    public boolean isAnyInTransit() {
        return IntStream.range(0, owner.length).anyMatch(this::isInTransit);
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
    public Placement assignment() {
        Placement before = Placement.ofActives(owner);
        for (int t = 0; t < owner.length; t++) {
            for (int c : possibleStandbys(t)) {
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
    public int[] possibleStandbys(int t) {
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

    /** Returns the copies that the last answers waited for. */
    Collection<Progress> awaitedCopies() {
        return progress.values();
    }

    /** Returns the restore rates that the last answer began with, or null if it knew nothing of times. */
    Pace pace() {
        return pace;
    }

    /** Returns the delay, ms, of the follow-up asked for on the way to the last plan, or null if none. */
    Long askedFollowupMs() {
        return askedFollowupMs;
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
