package io.github.optassign.broker;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import io.github.optassign.broker.group.RestoringActives;
import io.github.optassign.broker.opinion.SecondOpinion;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.policy.BrokerPolicy;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The memory of groups from one call to the next, shared by all assignors of this broker: Kafka makes several of them,
 * and calls any for any group.
 *
 * <p>An assignor is not told a group's id. But members' ids are random and unique, and a group never changes all of
 * them between two calls; so the group is the one that had any of these members. The memory is bounded: the last groups
 * stay.
 */
final class GroupMemory {

    /**
     * One group.
     *
     * @param applied the last answer; null: the last call ended in the last resort
     * @param active member to the indices of the tasks that it was given as active
     * @param standby the same of standbys
     * @param threads all members, and when they were first seen
     * @param told what members told of their active tasks
     * @param topology what the indices belong to
     * @param keepUntilNanos until when tasks without known lags stay where they are, as of System.nanoTime; see
     *     {@link Planning}
     * @param saidNoOffsets whether the log has been told that no member sends offsets
     * @param application its name towards the service
     * @param opinion what the service is asked about it; null: nothing
     */
    record Remembered(
            AppliedAnswer applied,
            Map<String, int[]> active,
            Map<String, int[]> standby,
            Map<String, KnownThread> threads,
            Map<String, RestoringActives.Told> told,
            String topology,
            long keepUntilNanos,
            boolean saidNoOffsets,
            String application,
            SecondOpinion opinion) {
        int entries() {
            return active.size()
                    + active.values().stream().mapToInt(tasks -> tasks.length).sum();
        }
    }

    /**
     * A member.
     *
     * @param sinceNanos when it was first seen, as of System.nanoTime
     */
    record KnownThread(String process, long sinceNanos) {}

    /** The memory of this JVM. */
    static final GroupMemory SHARED = new GroupMemory();

    /** Guarded by this; the group that was remembered last comes last. */
    private final LinkedHashMap<Long, Remembered> groups = new LinkedHashMap<>();

    private final Map<String, Long> groupOf = new HashMap<>();
    private long nextGroup;
    private long entries;

    /** Finds the memory of the group with these members; null: none. */
    synchronized Remembered find(BrokerGroup group) {
        for (Member member : group.members()) {
            Long key = groupOf.get(member.key());
            if (key != null) {
                return groups.get(key);
            }
        }
        return null;
    }

    /** Remembers a group anew, in place of what there was. */
    synchronized void remember(BrokerGroup group, Remembered remembered) {
        forget(group);
        long key = nextGroup++;
        groups.put(key, remembered);
        entries += remembered.entries();
        remembered.active().keySet().forEach(member -> groupOf.put(member, key));
        while (groups.size() > 1 && (groups.size() > BrokerPolicy.MOST_GROUPS || entries > BrokerPolicy.MOST_ENTRIES)) {
            remove(groups.keySet().iterator().next());
        }
    }

    /** Forgets the group with these members. */
    synchronized void forget(BrokerGroup group) {
        for (Member member : group.members()) {
            Long key = groupOf.get(member.key());
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
            removed.active().keySet().forEach(member -> groupOf.remove(member, key));
        }
    }
}
