package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.Application;
import io.github.optassign.baselines.Snapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.TaskId;

/**
 * A member of the group, which is one thread, and the tasks that it had before.
 *
 * <p>Members are the consumers of a client if the snapshot lists any, otherwise one for each of its threads. A consumer
 * keeps the previous active tasks that it lists; the others, and all previous standbys, are dealt in the order of task
 * ids, each to the first of the client's members with the fewest so far. (The broker knows which standbys it assigned;
 * a snapshot lists every task directory.)
 */
record Member(String id, List<TaskId> active, List<TaskId> standby) {
    private Member(String id) {
        this(id, new ArrayList<>(), new ArrayList<>());
    }

    /** The members of a client, at least one. */
    static List<Member> split(Application application, Snapshot.Client client) {
        List<Member> members = new ArrayList<>();
        Set<TaskId> previousActive = application.selectExisting(client.previousActive());
        new TreeMap<>(client.consumers()).forEach((consumer, listed) -> {
            Member member = new Member(client.processId() + "/" + consumer);
            for (TaskId task : application.selectExisting(listed)) {
                if (previousActive.remove(task)) {
                    member.active.add(task);
                }
            }
            members.add(member);
        });
        for (int i = 0; client.consumers().isEmpty() && i < client.threads(); i++) {
            members.add(new Member(client.processId() + "/" + i));
        }
        for (TaskId task : previousActive) {
            findLeastLoaded(members).active.add(task);
        }
        for (TaskId task : application.selectExisting(client.previousStandby())) {
            findLeastLoaded(members).standby.add(task);
        }
        return members;
    }

    private static Member findLeastLoaded(List<Member> members) {
        Member least = members.get(0);
        for (Member member : members) {
            if (member.size() < least.size()) {
                least = member;
            }
        }
        return least;
    }

    private int size() {
        return active.size() + standby.size();
    }
}
