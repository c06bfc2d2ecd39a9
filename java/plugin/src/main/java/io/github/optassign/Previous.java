package io.github.optassign;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * What was assigned before a rebalance, from what the clients list and from memory.
 *
 * <p>Kafka lists every task directory on a client's disk as a previous standby, dropped copies too, so who was assigned
 * is known only from memory. A task in transit is active nowhere, given up by its old owner and not yet with the new
 * one (KIP-429): only memory knows who is to have it.
 */
final class Previous {
    /** What was last seen of a copy that an answer waited for. */
    record Progress(long lag, int idle) {}

    private final Snapshot snapshot;
    private final Placement remembered;
    private final Placement plan;
    private final boolean planIsFallbacks;
    private final Map<Long, Progress> progress = new HashMap<>();
    private final int[] owner;
    private final boolean[] inTransit;
    private boolean anyInTransit;

    /**
     * What was assigned before.
     *
     * @param applied the last applied answer; null: none
     */
    Previous(Snapshot snapshot, Memory.Applied applied) {
        this.snapshot = snapshot;
        remembered = applied == null ? null : placement(applied.answer().clients());
        plan = applied == null ? null : planOf(applied);
        planIsFallbacks =
                applied != null && Answer.FALLBACK.equals(applied.answer().assignor());
        if (applied != null) {
            for (Answer.Progress seen : applied.answer().progress()) {
                Integer t = snapshot.taskIndex(seen.task());
                Integer c = snapshot.clientIndex(seen.processId());
                if (t != null && c != null) {
                    progress.put(key(t, c), new Progress(seen.lag(), seen.answersWithoutProgress()));
                }
            }
        }
        owner = new int[snapshot.taskCount()];
        inTransit = new boolean[owner.length];
        Arrays.fill(owner, -1);
        for (int t = 0; t < owner.length; t++) {
            findOwner(t);
        }
    }

    /**
     * One who lists the task as active; of several the remembered one, else the one that runs it, else the least id.
     */
    private void findOwner(int t) {
        int first = -1;
        int running = -1;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (snapshot.previousActive(c, t)) {
                first = first < 0 ? c : first;
                running = running < 0 && snapshot.lag(c, t) == Snapshot.RUNNING ? c : running;
            }
        }
        int last = remembered == null ? -1 : remembered.active()[t];
        if (first < 0) {
            owner[t] = last;
            inTransit[t] = last >= 0;
            anyInTransit |= last >= 0;
        } else if (last >= 0 && snapshot.previousActive(last, t)) {
            owner[t] = last;
        } else {
            owner[t] = running >= 0 ? running : first;
        }
    }

    private Placement placement(Iterable<Answer.Client> clients) {
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
                if (t != null && snapshot.logged(t) && placement.active()[t] != c && !placement.hasStandby(t, c)) {
                    placement.addStandby(t, c);
                }
            }
            for (String name : client.warmup()) {
                Integer t = snapshot.taskIndex(name);
                if (t != null && snapshot.logged(t) && !placement.hasCopy(t, c) && !placement.hasWarmup(t, c)) {
                    placement.addWarmup(t, c);
                }
            }
        }
        return placement;
    }

    /** The remembered plan, if it is one of this group: same clients of same size, every task with all its copies. */
    private Placement planOf(Memory.Applied applied) {
        Map<String, Integer> threads = new HashMap<>();
        for (int c = 0; c < snapshot.clientCount(); c++) {
            threads.put(snapshot.clientName(c), snapshot.threads(c));
        }
        if (!threads.equals(applied.threads())) {
            return null;
        }
        Placement found = applied.answer().plan() == null
                ? remembered
                : placement(applied.answer().plan());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int standbys = snapshot.logged(t) ? snapshot.standbysPerTask() : 0;
            if (found.active()[t] < 0
                    || found.standby()[t].length != standbys
                    || found.hasStandby(t, found.active()[t])) {
                return null;
            }
        }
        return found;
    }

    /** The last applied answer, as far as its tasks and clients are still there; null: none. */
    Placement remembered() {
        return remembered;
    }

    /** The remembered plan, if it still is one; null: none. It may have warm-ups, which do not matter. */
    Placement plan() {
        return plan;
    }

    /** The client that had the task, or, in transit, is to have it; -1: nobody. */
    int owner(int t) {
        return owner[t];
    }

    boolean inTransit(int t) {
        return inTransit[t];
    }

    boolean anyInTransit() {
        return anyInTransit;
    }

    /** Whether the remembered plan is the fallback's own, which knows no more than a new one would. */
    boolean planIsFallbacks() {
        return planIsFallbacks;
    }

    /**
     * Who had which copy before, if all of it is known: owners, and by memory the standbys. Without memory directories
     * are believed to be standbys if each task has exactly as many as it must. Null: not known.
     */
    Placement assigned() {
        Placement before = Placement.empty(snapshot.taskCount());
        for (int t = 0; t < owner.length; t++) {
            before.active()[t] = owner[t];
            for (int c = 0; c < snapshot.clientCount() && snapshot.logged(t); c++) {
                if (c != owner[t] && hadStandby(t, c)) {
                    before.addStandby(t, c);
                }
            }
            int wanted = snapshot.logged(t) ? snapshot.standbysPerTask() : 0;
            if (owner[t] < 0 || before.standby()[t].length != wanted) {
                return null;
            }
        }
        return before;
    }

    /**
     * Whether the task was a standby there as far as anybody knows: by memory, or else by the directory on the disk.
     */
    boolean hadStandby(int t, int c) {
        return remembered != null
                ? remembered.hasStandby(t, c)
                : snapshot.previousStandby(c).get(t);
    }

    boolean underWay(int t, int c) {
        return remembered != null && remembered.hasWarmup(t, c);
    }

    /** Whether the last answer gave the client any copy of the task, so that its lag could fall. */
    boolean assigned(int t, int c) {
        return remembered != null && (remembered.hasCopy(t, c) || remembered.hasWarmup(t, c));
    }

    /** What was seen of a copy that the last answers waited for; null: nothing. */
    Progress progress(int t, int c) {
        return progress.get(key(t, c));
    }

    private long key(int t, int c) {
        return (long) t * snapshot.clientCount() + c;
    }
}
