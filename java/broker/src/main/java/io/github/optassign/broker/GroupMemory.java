package io.github.optassign.broker;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.broker.group.RestoringActives;
import io.github.optassign.broker.opinion.OpinionRequests;
import io.github.optassign.broker.opinion.SecondOpinion;
import io.github.optassign.learn.AppliedAnswer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The memory of groups between calls. All assignors of a broker share it, since Kafka creates several and calls any of
 * them for any group.
 *
 * <p>An assignor does not know a group's id. Members' ids are unique, and a group never changes all of them between two
 * calls, so any member identifies the group. The memory is bounded, and the groups that were assigned longest ago are
 * forgotten first.
 */
final class GroupMemory {
    /** The most tasks and members of all remembered groups together. Memory is proportional to them. */
    static final int MOST_ENTRIES = 500_000;

    /**
     * The memory of a group.
     *
     * @param applied the last answer, or null if only the name is remembered
     * @param active the indices of each member's active tasks
     * @param standby the indices of each member's standbys
     * @param threads the members, with the times of their first calls
     * @param reports the members' reports on their active tasks
     * @param ends the last known end offset of each task's changelog, or -1: members report those of standbys only
     * @param topology the topology to which the indices belong; empty if only the name is remembered
     * @param keepUntilNanos the time until which tasks without known lags stay on their owners, as of System.nanoTime;
     *     see {@link Planning}
     * @param hadOffsets whether members had sent offsets; a new coordinator has none of them
     * @param isNoOffsetsLogged whether it has been logged that no member sends offsets
     * @param name the group's name in log lines, metrics and requests to the service
     * @param opinion the request to the service on the last answer, or null if there is none
     */
    record Remembered(
            AppliedAnswer applied,
            Map<String, int[]> active,
            Map<String, int[]> standby,
            Map<String, KnownThread> threads,
            Map<String, RestoringActives.Report> reports,
            double[] ends,
            String topology,
            long keepUntilNanos,
            boolean hadOffsets,
            boolean isNoOffsetsLogged,
            String name,
            SecondOpinion opinion) {
        /** Returns a memory of the name alone, as after an answer of the last resort. */
        static Remembered ofName(BrokerGroup group, String name) {
            Map<String, int[]> members = new HashMap<>();
            group.members().forEach(member -> members.put(member.key(), new int[0]));
            return new Remembered(
                    null, members, Map.of(), Map.of(), Map.of(), new double[0], "", 0, false, false, name, null);
        }

        /**
         * Returns whether the group's last answer is this one. A broker that loses a group and regains it still
         * remembers its old answer.
         */
        boolean isCurrent(BrokerGroup group) {
            return applied != null
                    && group.members().stream()
                            .allMatch(member -> IntStream.of(member.active())
                                    .allMatch(t -> applied.mayOwn(group.tasks().describe(t), member.process())));
        }

        int entries() {
            return active.size()
                    + active.values().stream().mapToInt(tasks -> tasks.length).sum();
        }
    }

    /**
     * A member, which is a thread.
     *
     * @param sinceNanos the time of the first call with this member, as of System.nanoTime
     */
    record KnownThread(String process, long sinceNanos) {}

    /** The memory of this JVM. */
    static final GroupMemory SHARED = new GroupMemory();

    /** The groups, the most recently remembered last. Guarded by {@code this}. */
    private final LinkedHashMap<Long, Remembered> groups = new LinkedHashMap<>();

    private final Map<String, Long> groupOfMember = new HashMap<>();
    private long nextGroup;
    private long entries;

    /** Returns the memory of a group, or null if none of its members is known. */
    synchronized Remembered find(BrokerGroup group) {
        for (Member member : group.members()) {
            Long key = groupOfMember.get(member.key());
            if (key != null) {
                return groups.get(key);
            }
        }
        return null;
    }

    /** Replaces the memory of a group. */
    synchronized void remember(BrokerGroup group, Remembered remembered) {
        forget(group);
        long key = nextGroup++;
        groups.put(key, remembered);
        entries += remembered.entries();
        remembered.active().keySet().forEach(member -> groupOfMember.put(member, key));
        while (groups.size() > 1 && (groups.size() > OpinionRequests.MOST_GROUPS || entries > MOST_ENTRIES)) {
            remove(groups.keySet().iterator().next());
        }
    }

    private void forget(BrokerGroup group) {
        for (Member member : group.members()) {
            Long key = groupOfMember.get(member.key());
            if (key != null) {
                remove(key);
            }
        }
    }

    synchronized int size() {
        return groups.size();
    }

    private void remove(Long key) {
        Remembered removed = groups.remove(key);
        if (removed != null) {
            entries -= removed.entries();
            removed.active().keySet().forEach(member -> groupOfMember.remove(member, key));
        }
    }
}
