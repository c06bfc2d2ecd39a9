package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.BaselineApplication;
import io.github.optassign.baselines.SnapshotJson;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.streams.processor.TaskId;

/**
 * A member of the group, which is a thread, and its previous tasks.
 *
 * <p>Members are the consumers of a client if the snapshot lists any, otherwise one for each of its threads. A consumer
 * keeps the previous active tasks that it lists. The others, and all previous standbys, go in the order of task ids to
 * the first of the client's members with the fewest tasks. (The broker knows which standbys it assigned; a snapshot
 * lists every task directory.)
 */
record BaselineMember(String id, List<TaskId> active, List<TaskId> standby) {
    private BaselineMember(String id) {
        this(id, new ArrayList<>(), new ArrayList<>());
    }

    /** Returns the members of a client, at least one. */
    static List<BaselineMember> split(BaselineApplication application, SnapshotJson.Client client) {
        List<BaselineMember> members = new ArrayList<>();
        Set<TaskId> previousActive = application.selectExisting(client.previousActive());
        new TreeMap<>(client.consumers()).forEach((consumer, listed) -> {
            BaselineMember member = new BaselineMember(client.processId() + "/" + consumer);
            for (TaskId task : application.selectExisting(listed)) {
                if (previousActive.remove(task)) {
                    member.active.add(task);
                }
            }
            members.add(member);
        });
        for (int i = 0; client.consumers().isEmpty() && i < client.threads(); i++) {
            members.add(new BaselineMember(client.processId() + "/" + i));
        }
        for (TaskId task : previousActive) {
            findLeastLoaded(members).active.add(task);
        }
        for (TaskId task : application.selectExisting(client.previousStandby())) {
            findLeastLoaded(members).standby.add(task);
        }
        return members;
    }

    private static BaselineMember findLeastLoaded(List<BaselineMember> members) {
        BaselineMember least = members.get(0);
        for (BaselineMember member : members) {
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
