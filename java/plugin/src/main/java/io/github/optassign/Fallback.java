package io.github.optassign;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Answers a rebalance inside the JVM where the service cannot: small, deterministic, by the rules R1 to R6, R10 and
 * R11.
 *
 * <ol>
 *   <li>A plan: where every copy should be in the end ({@link Planner}).
 *   <li>Actives: a task in transit goes where the first pass said. Else the most caught up clients may have it: the
 *       plan's among them, else the owner, else the least loaded.
 *   <li>Standbys: the least ranks after the active, the plan's first among equals.
 *   <li>Warm-ups of what the plan still lacks, and a follow-up while that can make progress ({@link WarmupQueue}).
 * </ol>
 */
final class Fallback {
    private final Snapshot snapshot;
    private final Previous previous;
    private final Ranks ranks;
    private final Placement plan;
    private final Placement answer;
    private final long[] load;

    /**
     * The fallback's answer.
     *
     * @param placement who has which copy now
     * @param plan where all copies shall be in the end; null: this is it
     * @param followupMs delay of the follow-up, asked for by the first client; -1: none
     * @param progress what the follow-up waits for
     * @param stalled the plan is not reached and no copy has come nearer for several answers
     */
    record Result(
            Placement placement, Placement plan, long followupMs, List<Answer.Progress> progress, boolean stalled) {}

    private Fallback(Snapshot snapshot, Memory.Applied applied) {
        this.snapshot = snapshot;
        previous = new Previous(snapshot, applied);
        ranks = new Ranks(snapshot);
        plan = Planner.plan(snapshot, ranks, previous);
        answer = Placement.empty(snapshot.taskCount());
        load = new long[snapshot.clientCount()];
    }

    /**
     * Answers a rebalance.
     *
     * @param snapshot with at least one client
     * @param applied the last applied answer; null: none
     */
    static Result answer(Snapshot snapshot, Memory.Applied applied) {
        Fallback fallback = new Fallback(snapshot, applied);
        fallback.assignActives();
        fallback.assignStandbys();
        return fallback.finish();
    }

    private void assignActives() {
        boolean ownersFirst = mayBeUnknownSecondPass();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int owner = previous.owner(t);
            if (confirmed(t)) {
                put(t, owner);
            } else if (owner >= 0 && ownersFirst && mostCaughtUp(t, owner)) {
                put(t, owner);
            } else if (mostCaughtUp(t, plan.active()[t])) {
                put(t, plan.active()[t]);
            } else if (owner >= 0 && mostCaughtUp(t, owner)) {
                put(t, owner);
            }
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (answer.active()[t] < 0) {
                put(t, leastLoaded(t));
            }
        }
    }

    private void put(int t, int c) {
        answer.active()[t] = c;
        load[c]++;
    }

    private boolean mostCaughtUp(int t, int c) {
        return ranks.of(t, c) == ranks.least(t);
    }

    /** R10: the first pass gave the task in transit to a client that is hardly worse than the best one. */
    private boolean confirmed(int t) {
        if (!previous.inTransit(t)) {
            return false;
        }
        long best = Long.MAX_VALUE;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            best = Math.min(best, ranks.offsets(t, c));
        }
        return ranks.hardlyWorse(t, previous.owner(t), best);
    }

    /**
     * Without memory, some tasks nobody's but caught up somewhere and others owned: this may be the second pass of a
     * move whose first is not known. Moving more tasks now would let the group swing to and fro, so owners keep what
     * they may.
     */
    private boolean mayBeUnknownSecondPass() {
        if (previous.remembered() != null) {
            return false;
        }
        boolean anyNobodys = false;
        boolean anyOwned = false;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            boolean owned = previous.owner(t) >= 0;
            anyOwned |= owned;
            anyNobodys |= !owned;
            if (!owned && ranks.least(t) > 0) {
                return false;
            }
        }
        return anyNobodys && anyOwned;
    }

    private int leastLoaded(int t) {
        int best = -1;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (mostCaughtUp(t, c) && (best < 0 || compareLoad(c, best) < 0)) {
                best = c;
            }
        }
        return best;
    }

    /** Compares loads per thread as they would be with one more. */
    private int compareLoad(int a, int b) {
        return Long.compare((load[a] + 1) * snapshot.threads(b), (load[b] + 1) * snapshot.threads(a));
    }

    private void assignStandbys() {
        int wanted = snapshot.standbysPerTask();
        for (int t = 0; t < snapshot.taskCount() && wanted > 0; t++) {
            if (!snapshot.logged(t)) {
                continue;
            }
            if (confirmed(t)) {
                confirmStandbys(t, wanted);
            }
            while (answer.standby()[t].length < wanted) {
                int best = -1;
                for (int c = 0; c < snapshot.clientCount(); c++) {
                    if (!answer.hasCopy(t, c) && (best < 0 || compareStandby(t, c, best) < 0)) {
                        best = c;
                    }
                }
                addStandby(t, best);
            }
        }
    }

    private void addStandby(int t, int c) {
        answer.addStandby(t, c);
        load[c]++;
    }

    /** R10 for the standbys of a task in transit whose active is confirmed. */
    private void confirmStandbys(int t, int wanted) {
        int[] first = previous.remembered().standby()[t];
        if (first.length > wanted) {
            return;
        }
        long best = Long.MAX_VALUE;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            if (c != answer.active()[t] && !previous.remembered().hasStandby(t, c)) {
                best = Math.min(best, ranks.offsets(t, c));
            }
        }
        for (int c : first) {
            if (c != answer.active()[t] && ranks.hardlyWorse(t, c, best)) {
                addStandby(t, c);
            }
        }
    }

    private int compareStandby(int t, int a, int b) {
        int order = Long.compare(ranks.of(t, a), ranks.of(t, b));
        order = order != 0 ? order : Boolean.compare(!plan.hasCopy(t, a), !plan.hasCopy(t, b));
        order = order != 0 ? order : Boolean.compare(!previous.hadStandby(t, a), !previous.hadStandby(t, b));
        order = order != 0 ? order : Long.compare(ranks.offsets(t, a), ranks.offsets(t, b));
        return order != 0 ? order : compareLoad(a, b);
    }

    private Result finish() {
        boolean reached = answer.sameCopies(plan);
        WarmupQueue queue = new WarmupQueue(snapshot, ranks, previous, plan, answer);
        queue.serve();
        boolean waits = !reached && !queue.stalled();
        long followupMs = waits || snapshot.unknownLag()
                ? AnswerCheck.withinLimits(snapshot.configs().probingRebalanceIntervalMs())
                : -1;
        return new Result(answer, reached ? null : plan, followupMs, queue.progress(), queue.stalled());
    }

    /** The result as an answer for Kafka: the first client asks for the follow-up. */
    static CheckedAnswer checked(Snapshot snapshot, Result result) {
        long[] followupMs = new long[snapshot.clientCount()];
        Arrays.fill(followupMs, -1);
        followupMs[0] = result.followupMs();
        return new CheckedAnswer(result.placement(), followupMs);
    }

    /** The result as the answer that is remembered and goes to the service. */
    static Answer named(Snapshot snapshot, Result result) {
        List<Answer.Client> clients = perClient(snapshot, result.placement());
        if (result.followupMs() >= 0) {
            Answer.Client first = clients.get(0);
            clients.set(
                    0,
                    new Answer.Client(
                            first.processId(), first.active(), first.standby(), first.warmup(), result.followupMs()));
        }
        List<Answer.Client> plan = result.plan() == null ? null : perClient(snapshot, result.plan());
        return new Answer(Answer.FALLBACK, clients, plan, result.progress());
    }

    private static List<Answer.Client> perClient(Snapshot snapshot, Placement placement) {
        List<Answer.Client> clients = new ArrayList<>();
        for (String name : snapshot.clientNames()) {
            clients.add(new Answer.Client(name, new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), null));
        }
        for (int t = 0; t < snapshot.taskCount(); t++) {
            String name = snapshot.taskName(t);
            clients.get(placement.active()[t]).active().add(name);
            for (int c : placement.standby()[t]) {
                clients.get(c).standby().add(name);
            }
            for (int c : placement.warmup()[t]) {
                clients.get(c).warmup().add(name);
            }
        }
        return clients;
    }
}
