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
 * The assignment before a rebalance, combined from the clients' lists of previous tasks and the remembered last answer.
 *
 * <p>Kafka lists every other task directory on a client's disk as a previous standby, even of dropped copies. So only
 * the last answer tells which standbys were assigned. A task in transit is active nowhere: its old owner has revoked it
 * and the new one does not have it yet (KIP-429). Only the last answer tells the new owner.
 */
public final class Previous {
    /**
     * The progress, at the last answer, of a copy for which that answer waited.
     *
     * @param lag the offsets left to replay, or -1 if unknown
     * @param idleAnswers the number of counted answers over which the lag has not fallen (R11)
     * @param underWayMs how long the copy had been assigned
     */
    public record Progress(int task, int client, long lag, int idleAnswers, long underWayMs) {}

    private final Snapshot snapshot;
    /** The last answer, or null if none is remembered. */
    private final Answer last;

    private final Placement remembered;
    private final Placement plan;
    private final boolean planIsBinding;
    private final boolean sameGroup;
    private final Map<Long, Progress> progress = new HashMap<>();
    private final int[] owner;

    /** Combines a snapshot with the last applied answer, which is null if none is remembered. */
    public Previous(Snapshot snapshot, AppliedAnswer applied) {
        this.snapshot = snapshot;
        last = applied == null ? null : applied.answer();
        remembered = last == null ? null : toPlacement(last.clients());
        plan = last == null ? null : findPlan();
        Map<String, ClientProfile> profiles = last == null ? Map.of() : ClientProfile.listByClient(snapshot);
        boolean areAllKnown = last != null && applied.profiles().entrySet().containsAll(profiles.entrySet());
        sameGroup = areAllKnown && applied.profiles().size() == snapshot.clientCount();
        planIsBinding = areAllKnown && applied.isPlanByService();
        if (last != null) {
            rememberProgress();
        }
        owner = snapshot.tasks().map(this::findOwner).toArray();
    }

    private void rememberProgress() {
        for (Answer.Progress seen : last.progress()) {
            Integer t = snapshot.taskIndex(seen.task());
            Integer c = snapshot.clientIndex(seen.processId());
            if (t != null && c != null) {
                progress.put(
                        key(t, c), new Progress(t, c, seen.lag(), seen.answersWithoutProgress(), seen.underWayMs()));
            }
        }
    }

    /**
     * Returns the remembered owner if it lists the task as active or no client does; -1 if no owner is remembered
     * either. If only other clients list the task, returns the first of them that runs it, or the first of them.
     */
    private int findOwner(int t) {
        int[] owners = snapshot.owners(t);
        int before = remembered == null ? -1 : remembered.active()[t];
        if (owners.length == 0 || (before >= 0 && snapshot.wasActive(t, before))) {
            return before;
        }
        return Arrays.stream(owners)
                .filter(c -> snapshot.lag(t, c) == Snapshot.RUNNING)
                .findFirst()
                .orElse(owners[0]);
    }

    /** Returns the copies by index, without tasks and clients that are gone and copies that break R2 or R4. */
    private Placement toPlacement(List<Answer.Client> clients) {
        Placement placement = Placement.empty(snapshot.taskCount());
        for (Answer.Client client : clients) {
            Integer c = snapshot.clientIndex(client.processId());
            if (c != null) {
                listTasks(client.active())
                        .filter(t -> placement.active()[t] < 0 || c < placement.active()[t])
                        .forEach(t -> placement.active()[t] = c);
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

    /** Returns the remembered plan, or null if it lacks a copy of a present task or has it on a client that is gone. */
    private Placement findPlan() {
        Placement found = last.plan() == null ? remembered : toPlacement(last.plan());
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

    /** Returns the last answer, reduced to present tasks and clients, or null if none is remembered. */
    public Placement remembered() {
        return remembered;
    }

    /** Returns the remembered plan, or null without one or if a copy's client is gone. Ignore its warm-ups. */
    public Placement plan() {
        return plan;
    }

    /** Returns the client that had the task or, if in transit, will get it; -1 if no such client is known. */
    public int owner(int t) {
        return owner[t];
    }

    /** Returns whether no client lists the task as active although the last answer gave it to a present client. */
    public boolean isInTransit(int t) {
        return owner[t] >= 0 && snapshot.owners(t).length == 0;
    }

    public boolean isAnyInTransit() {
        return IntStream.range(0, owner.length).anyMatch(this::isInTransit);
    }

    /** Returns whether the clients and their profiles are those of the last answer. */
    public boolean isSameGroup() {
        return sameGroup;
    }

    /**
     * Returns whether the last answer's plan is the service's, and no client has joined or changed its profile since.
     * The plan, if still complete, is then kept: the service knows more, such as draining clients, racks and weights.
     */
    public boolean isPlanBinding() {
        return planIsBinding;
    }

    /**
     * Returns the actives and standbys before this rebalance, or null if some copy's client is unknown. Without a
     * remembered answer, directories count as standbys, if each task has exactly the number of R4.
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

    /** Returns whether the client had a standby: by the remembered answer or, without one, by its directories. */
    public boolean hadStandby(int t, int c) {
        return remembered != null ? remembered.hasStandby(t, c) : snapshot.wasStandby(t, c);
    }

    /** Returns all clients for which {@link #hadStandby} holds, sorted; others may be among them. */
    public int[] possibleStandbys(int t) {
        return remembered != null ? remembered.standby()[t] : snapshot.holders(t);
    }

    /** Returns whether the last answer warmed the task up on the client. */
    public boolean hadWarmup(int t, int c) {
        return remembered != null && remembered.hasWarmup(t, c);
    }

    /** Returns whether the last answer gave the client any copy of the task, a warm-up included. */
    public boolean hadAnyCopy(int t, int c) {
        return remembered != null && (remembered.hasCopy(t, c) || remembered.hasWarmup(t, c));
    }

    /** Returns the last progress of a copy, or null if the last answer did not wait for the copy. */
    public Progress progress(int t, int c) {
        return progress.get(key(t, c));
    }

    /** Returns the copies for which the last answer waited. */
    Collection<Progress> awaitedCopies() {
        return progress.values();
    }

    /** Returns the restore rates that the last answer passed on, or null if it had no times. */
    Pace pace() {
        return last == null ? null : last.pace();
    }

    /** Returns the delay, ms, of the last answer's follow-up; null without one, or if the answer was its own plan. */
    Long askedFollowupMs() {
        List<Answer.Client> clients = last == null || last.plan() == null ? List.of() : last.clients();
        return clients.stream()
                .map(Answer.Client::followupMs)
                .filter(Objects::nonNull)
                .min(Long::compare)
                .orElse(null);
    }

    /** Returns how long the copy has been assigned, {@code elapsedMs} after the last answer, or 0 for a new copy. */
    public long underWayMs(int t, int c, long elapsedMs) {
        Progress before = progress(t, c);
        return before == null || !hadAnyCopy(t, c) ? 0 : before.underWayMs() + elapsedMs;
    }

    private long key(int t, int c) {
        return (long) t * snapshot.clientCount() + c;
    }
}
