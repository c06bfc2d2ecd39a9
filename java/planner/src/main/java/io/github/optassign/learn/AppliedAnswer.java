package io.github.optassign.learn;

import io.github.optassign.model.Answer;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.InputPolicy;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An answer that Kafka has applied.
 *
 * @param json the answer as the service or the planner wrote it, or empty if there is no service to send it to
 * @param answeredAt the time of the decision, milliseconds since 1970 by its author's clock
 * @param answer the content of the JSON
 * @param profiles by process id, the {@link ClientProfile} of the group for which the plan was made
 * @param owners by task, the clients that may list the task as active until another leader decides
 * @param decidedNanos {@link System#nanoTime} at the decision
 * @param isPlanByService whether the service made the plan, even if the planner continued it in this answer
 */
public record AppliedAnswer(
        String json,
        long answeredAt,
        Answer answer,
        Map<String, ClientProfile> profiles,
        Map<String, Set<String>> owners,
        long decidedNanos,
        boolean isPlanByService) {

    /** Returns whether an answer may have this date, in milliseconds since 1970: it is not far in the future. */
    public static boolean isPlausibleDate(long answeredAt) {
        return answeredAt >= 0 && answeredAt - System.currentTimeMillis() <= InputPolicy.MOST_AHEAD_MS;
    }

    /** Creates the record of an answer to this snapshot that was decided just now. */
    public static AppliedAnswer of(String json, long answeredAt, Answer answer, Snapshot snapshot) {
        Map<String, Set<String>> owners = new HashMap<>();
        for (Answer.Client client : answer.clients()) {
            client.active().forEach(task -> owners.merge(task, Set.of(client.processId()), AppliedAnswer::unite));
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            String client = snapshot.clientName(c);
            snapshot.previousActive(c).stream()
                    .forEach(t -> owners.merge(snapshot.taskName(t), Set.of(client), AppliedAnswer::unite));
        }
        return new AppliedAnswer(
                json,
                answeredAt,
                answer,
                ClientProfile.listByClient(snapshot),
                owners,
                System.nanoTime(),
                !answer.isByPlanner());
    }

    /**
     * Returns this record, marked as the service's plan if it continues such a plan of the last answer.
     *
     * @param last the replaced answer, or null if this is the first
     */
    public AppliedAnswer continuing(AppliedAnswer last) {
        boolean isContinued = last != null && last.isPlanByService && answer.hasPlanOf(last.answer);
        return new AppliedAnswer(
                json, answeredAt, answer, profiles, owners, decidedNanos, isPlanByService || isContinued);
    }

    private static Set<String> unite(Set<String> some, Set<String> more) {
        return some.containsAll(more)
                ? some
                : Stream.concat(some.stream(), more.stream()).collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Returns whether another leader has decided since, so that this is no longer the last answer. A process that lost
     * the lead and regained it remembers its old answer, and Kafka does not report the leader in between.
     * {@link #mayOwn Impossible owners} prove that another leader has decided.
     */
    public boolean isSuperseded(Snapshot now) {
        return IntStream.range(0, now.clientCount())
                .anyMatch(
                        c -> now.previousActive(c).stream().anyMatch(t -> !mayOwn(now.taskName(t), now.clientName(c))));
    }

    /**
     * Returns whether a task may be active on a client until another leader decides: it is active on its client in this
     * answer, on its client before, or (between two passes) on no client.
     */
    public boolean mayOwn(String task, String client) {
        Set<String> possible = owners.get(task);
        return possible == null || possible.contains(client);
    }

    /**
     * Returns the date of a new answer of this JVM, in milliseconds since 1970. It is later than the date of the answer
     * that it replaces, even if the clock of that answer's author is ahead. Otherwise the service would take its own
     * older answer for the newer one.
     *
     * @param last the replaced answer, or null if this is the first
     */
    public static long dateAfter(AppliedAnswer last) {
        long now = System.currentTimeMillis();
        if (last == null) {
            return now;
        }
        long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - last.decidedNanos);
        return Math.max(now, last.answeredAt + 1 + sinceMs);
    }
}
