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
 * An answer that Kafka has taken.
 *
 * @param json the TaskAssignment as the service, or the planner, wrote it; empty: there was no service to tell
 * @param answeredAt the time of the decision, milliseconds since 1970 by its author's clock
 * @param answer the content of the JSON
 * @param sizes process id to size of the client at that time, less than 0 if it drained: the group that the answer's
 *     plan was made for
 * @param owners task to the clients that may list it as active as long as no other leader decides
 * @param decidedNanos when it was decided, as of System.nanoTime
 */
public record AppliedAnswer(
        String json,
        long answeredAt,
        Answer answer,
        Map<String, Long> sizes,
        Map<String, Set<String>> owners,
        long decidedNanos) {

    /** Returns whether a date, in milliseconds since 1970, is plausible for an answer. */
    public static boolean isPlausibleDate(long answeredAt) {
        return answeredAt >= 0 && answeredAt - System.currentTimeMillis() <= InputPolicy.MOST_AHEAD_MS;
    }

    /** Creates the record of an answer that was decided just now, for this snapshot. */
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

    /** Returns the client's size, less than 0 if it drains. */
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
     * the lead and has it again still remembers its old answer, and Kafka does not report another leader in between.
     *
     * <p>A task whose owner is neither the client that this answer gave it to nor the one that had it then gives it
     * away. Until another leader decides, a task is active on the client that is to have it, or nowhere (first pass),
     * or, where the answer did not arrive, on the client that had it.
     */
    public boolean isSuperseded(Snapshot now) {
        return IntStream.range(0, now.clientCount())
                .anyMatch(c -> now.previousActive(c).stream().anyMatch(t -> {
                    Set<String> possible = owners.get(now.taskName(t));
                    return possible != null && !possible.contains(now.clientName(c));
                }));
    }

    /**
     * Returns the date of a new answer of this JVM, later than the answer that it replaces even if that was dated by a
     * clock ahead of this one. Otherwise the service would take its own older answer for the newer one.
     *
     * @param last the replaced answer, or null if there is none
     * @return milliseconds since 1970
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
