package io.github.optassign.service;

import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;

/**
 * A check of the rules that depend on an answer and its snapshot only (docs/reference/rules.md, R3 to R6 and the last
 * sentence of R8), and of whether the plan places every copy. {@link AnswerCheck} checks R1 and R2.
 *
 * <p>R10 makes an exception for the second pass: a task without an owner may be on the client of the first pass, if
 * that client has at most {@code acceptable.recovery.lag} offsets more to replay than the best client. This JVM may not
 * know the first pass's client, if another member led that pass; so the exception holds for any client.
 */
public final class RuleCheck {
    private final Snapshot snapshot;
    private final Placement placement;
    private final Ranks ranks;

    private RuleCheck(Snapshot snapshot, Placement placement) {
        this.snapshot = snapshot;
        this.placement = placement;
        ranks = snapshot.ranks();
    }

    /**
     * Checks an answer.
     *
     * @param checked the same answer by indices
     * @return the answer's plan, or the answer itself if it names no plan
     * @throws WrongAnswer if the answer breaks a rule; names the first fault
     */
    public static Placement check(Snapshot snapshot, Answer answer, CheckedAnswer checked) throws WrongAnswer {
        RuleCheck check = new RuleCheck(snapshot, checked.placement());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            check.checkNumberOfStandbys(checked.placement(), t, "");
            if (snapshot.isLogged(t)) {
                check.checkActive(t);
                check.checkStandbys(t);
            }
        }
        check.checkWarmups();
        check.checkFollowups(checked.followupMs());
        if (answer.plan() == null) {
            return checked.placement();
        }
        Placement plan = AnswerCheck.check(snapshot, answer.plan()).placement();
        for (int t = 0; t < snapshot.taskCount(); t++) {
            check.checkNumberOfStandbys(plan, t, " in the plan");
        }
        return plan;
    }

    /**
     * Refuses an active on a client that is not of least rank (R3), unless the task has no owner and the client has
     * hardly more to replay than the best one.
     */
    private void checkActive(int t) throws WrongAnswer {
        int c = placement.active()[t];
        long rank = ranks.rank(t, c);
        if (rank > ranks.leastRank(t) && !(isOwnerless(t) && ranks.isHardlyWorse(t, c, leastOffsets(t, false)))) {
            throw new WrongAnswer("R3: found task " + snapshot.taskName(t) + " active on " + snapshot.clientName(c)
                    + " of rank " + rank + "; allowed: the least rank, " + ranks.leastRank(t));
        }
    }

    private void checkNumberOfStandbys(Placement where, int t, String place) throws WrongAnswer {
        int wanted = snapshot.isLogged(t) ? snapshot.standbysPerTask() : 0;
        int found = where.standby()[t].length;
        if (found != wanted) {
            throw new WrongAnswer("R4: found " + found + " standbys of task " + snapshot.taskName(t) + place
                    + "; allowed: exactly " + wanted);
        }
    }

    private void checkStandbys(int t) throws WrongAnswer {
        long worst = 0;
        for (int c : placement.standby()[t]) {
            worst = Math.max(worst, ranks.rank(t, c));
        }
        if (worst == 0) {
            return;
        }
        long least = Long.MAX_VALUE;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            least = placement.hasCopy(t, c) ? least : Math.min(least, ranks.rank(t, c));
        }
        for (int c : placement.standby()[t]) {
            long rank = ranks.rank(t, c);
            if (rank > least && !(isOwnerless(t) && ranks.isHardlyWorse(t, c, leastOffsets(t, true)))) {
                throw new WrongAnswer("R5: found a standby of task " + snapshot.taskName(t) + " on "
                        + snapshot.clientName(c) + " of rank " + rank + "; allowed: at most " + least
                        + ", the least rank of a client without a copy");
            }
        }
    }

    private boolean isOwnerless(int t) {
        return snapshot.owners(t).length == 0;
    }

    /**
     * Returns the fewest offsets of a task that any client has to replay.
     *
     * @param withoutCopies whether only clients without an active or standby copy count
     */
    private long leastOffsets(int t, boolean withoutCopies) {
        long least = Long.MAX_VALUE;
        for (int c = 0; c < snapshot.clientCount(); c++) {
            boolean counts = !withoutCopies || !placement.hasCopy(t, c);
            least = counts ? Math.min(least, ranks.offsets(t, c)) : least;
        }
        return least;
    }

    /** Refuses more warm-ups than max.warmup.replicas (R6). */
    private void checkWarmups() throws WrongAnswer {
        int most = snapshot.configs().maxWarmupReplicas();
        if (placement.warmupCount() > most) {
            throw new WrongAnswer("R6: found " + placement.warmupCount() + " warm-ups; allowed: at most " + most
                    + " (max.warmup.replicas)");
        }
    }

    private void checkFollowups(long[] followupMs) throws WrongAnswer {
        for (int c = 0; c < followupMs.length; c++) {
            if (followupMs[c] >= 0 && c != snapshot.followupClient()) {
                throw new WrongAnswer("R8: found a follow-up asked for by " + snapshot.clientName(c)
                        + "; allowed: only by " + snapshot.clientName(snapshot.followupClient())
                        + ", the least process id that does not drain");
            }
        }
    }
}
