package io.github.optassign.streams;

import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TaskLags;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;

/**
 * A reader of lags. Kafka computes them for logged tasks; a stateful task without a changelog has none.
 *
 * <p>In a small group it reads every lag. In a large group most clients have no state of most tasks, and Kafka reports
 * the changelog's length as their lag. Reading every lag there would copy a map of all tasks per client. So the reader
 * takes the lags of listed tasks, and one lag per task of a client without state. It compares samples of other clients
 * with this lag. If a sample differs, contrary to Kafka's computation of lags, it reads every lag.
 */
final class LagReader {
    /**
     * The most pairs of task and client for which the plug-in reads every lag. Kafka copies all lags of a client for
     * each request, which would take seconds for more pairs.
     */
    static final int LAGS_READ_WHOLE = 250_000;
    /**
     * The number of tasks per client without state whose lags confirm that such clients lag alike. State of another
     * origin is read as a whole. A lag takes microseconds.
     */
    private static final int LAGS_SAMPLED = 2;

    private final TaskId[] tasks;
    private final KafkaStreamsState[] states;
    private final BitSet[] listed;

    /**
     * Creates a reader for a group.
     *
     * @param listed per client its previous tasks
     */
    LagReader(TaskId[] tasks, KafkaStreamsState[] states, BitSet[] listed) {
        this.tasks = tasks;
        this.states = states;
        this.listed = listed;
    }

    /**
     * The lags of a group.
     *
     * @param lags the lags by task and client
     * @param logged per task whether it has lags
     */
    record Lags(TaskLags lags, boolean[] logged) {}

    Lags read() {
        boolean isLarge = (long) tasks.length * states.length > LAGS_READ_WHOLE;
        Lags lags = isLarge ? readListed() : null;
        return lags != null ? lags : readAll();
    }

    /** Reads every lag. */
    Lags readAll() {
        List<Map<TaskId, Long>> ofClients = Arrays.stream(states)
                .map(KafkaStreamsState::statefulTasksToLagSums)
                .toList();
        boolean[] logged = new boolean[tasks.length];
        long[] common = new long[tasks.length];
        Arrays.fill(common, Snapshot.NONE);
        for (int t = 0; t < tasks.length; t++) {
            for (int c = states.length - 1; c >= 0; c--) {
                Long lag = ofClients.get(c).get(tasks[t]);
                logged[t] |= lag != null;
                common[t] = listed[c].get(t) ? common[t] : toLag(lag);
            }
        }
        TaskLags lags = new TaskLags(common, states.length);
        for (int c = 0; c < states.length; c++) {
            for (int t = 0; t < tasks.length; t++) {
                lags.set(t, c, toLag(ofClients.get(c).get(tasks[t])));
            }
        }
        return new Lags(lags, logged);
    }

    private static long toLag(Long lag) {
        return lag == null ? Snapshot.NONE : lag >= 0 || lag == Snapshot.RUNNING ? lag.longValue() : Snapshot.UNKNOWN;
    }

    /**
     * Reads the lags of listed tasks, and one lag per task of a client that does not list it.
     *
     * @return null if a sample differs from that lag, or a client lacks the lag of a logged task
     */
    Lags readListed() {
        Map<TaskId, Long> ofFirst = states[0].statefulTasksToLagSums();
        try {
            boolean[] logged = new boolean[tasks.length];
            long[] common = new long[tasks.length];
            for (int t = 0; t < tasks.length; t++) {
                Long lag = ofFirst.get(tasks[t]);
                logged[t] = lag != null;
                common[t] = logged[t] && listed[0].get(t) ? readWithoutState(t) : toLag(lag);
            }
            TaskLags lags = new TaskLags(common, states.length);
            for (int c = 0; c < states.length; c++) {
                for (int t = listed[c].nextSetBit(0); t >= 0; t = listed[c].nextSetBit(t + 1)) {
                    lags.set(t, c, logged[t] ? toLag(states[c].lagFor(tasks[t])) : Snapshot.NONE);
                }
                if (!isConfirmed(c, common, logged)) {
                    return null;
                }
            }
            return new Lags(lags, logged);
        } catch (IllegalStateException e) {
            return null; // a client lacks the lag of a task for which the first client has a lag
        }
    }

    /** Returns the lag of the first client that does not list a task; {@link Snapshot#NONE} if all list it. */
    private long readWithoutState(int t) {
        for (int c = 1; c < states.length; c++) {
            if (!listed[c].get(t)) {
                return toLag(states[c].lagFor(tasks[t]));
            }
        }
        return Snapshot.NONE;
    }

    /** Returns whether samples of a client's lags, of tasks that it does not list, equal the {@code common} lags. */
    private boolean isConfirmed(int c, long[] common, boolean[] logged) {
        for (int i = 0; i < LAGS_SAMPLED; i++) {
            int t = (int) ((c + (long) i * tasks.length / LAGS_SAMPLED) % tasks.length);
            if (logged[t] && !listed[c].get(t) && toLag(states[c].lagFor(tasks[t])) != common[t]) {
                return false;
            }
        }
        return true;
    }
}
