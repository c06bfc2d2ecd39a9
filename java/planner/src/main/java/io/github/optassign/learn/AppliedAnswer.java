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
 * @param sizes by process id, the {@link #signedSize} of each client of the group for which the plan was made
 * @param owners by task, the clients that may list the task as active until another leader decides
 * @param decidedNanos {@link System#nanoTime} at the decision
 */
public record AppliedAnswer(
        String json,
        long answeredAt,
        Answer answer,
        Map<String, Long> sizes,
        Map<String, Set<String>> owners,
        long decidedNanos) {

    /** Returns whether an answer may have this date, in milliseconds since 1970: it is not far in the future. */
    public static boolean isPlausibleDate(long answeredAt) {
        return answeredAt >= 0 && answeredAt - System.currentTimeMillis() <= InputPolicy.MOST_AHEAD_MS;
    }

    /** Creates the record of an answer to this snapshot that was decided just now. */
    public static AppliedAnswer of(String json, long answeredAt, Answer answer, Snapshot snapshot) {
        Map<String, Long> sizes = new HashMap<>();
        Map<String, Set<String>> owners = new HashMap<>();
        for (Answer.Client client : answer.clients()) {
            client.active().forEach(task -> owners.merge(task, Set.of(client.processId()), AppliedAnswer::unite));
        }
        for (int c = 0; c < snapshot.clientCount(); c++) {
            String client = snapshot.clientName(c);
            sizes.put(client, signedSize(snapshot, c));
            snapshot.previousActive(c).stream()
                    .forEach(t -> owners.merge(snapshot.taskName(t), Set.of(client), AppliedAnswer::unite));
        }
        return new AppliedAnswer(json, answeredAt, answer, sizes, owners, System.nanoTime());
    }

    /** Returns the client's size, negated if it drains. */
    public static long signedSize(Snapshot snapshot, int c) {
        return snapshot.isDraining(c) ? -snapshot.size(c) : snapshot.size(c);
    }

    private static Set<String> unite(Set<String> some, Set<String> more) {
        return some.containsAll(more)
                ? some
                : Stream.concat(some.stream(), more.stream()).collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Returns whether another leader has decided since, so that this is no longer the last answer. A process that lost
     * the lead and regained it remembers its old answer, and Kafka does not report the leader in between.
     *
     * <p>Until another leader decides, a task is active on its client in this answer, on its client before, or (between
     * two passes) on no client. Any other owner proves that another leader has decided.
     */
    public boolean isSuperseded(Snapshot now) {
        return IntStream.range(0, now.clientCount())
                .anyMatch(c -> now.previousActive(c).stream().anyMatch(t -> {
                    Set<String> possible = owners.get(now.taskName(t));
                    return possible != null && !possible.contains(now.clientName(c));
                }));
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
