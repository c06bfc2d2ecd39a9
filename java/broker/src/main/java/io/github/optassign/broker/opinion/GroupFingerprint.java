package io.github.optassign.broker.opinion;

import io.github.optassign.broker.dealing.MemberAnswer;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.Member;
import java.util.Map;
import java.util.TreeMap;

/**
 * The expected state of a group after it has applied an answer. A difference shows that another event has happened.
 *
 * @param members the process of each member
 * @param owners per task the process on which it is active
 */
public record GroupFingerprint(Map<String, String> members, String topology, String[] owners) {
    /** Returns the fingerprint of a group that applies an answer. */
    public static GroupFingerprint after(BrokerGroup group, MemberAnswer answer) {
        String[] owners = new String[group.tasks().size()];
        for (int m = 0; m < answer.size(); m++) {
            for (int t : answer.active(m)) {
                owners[t] = group.members().get(m).process();
            }
        }
        return new GroupFingerprint(listMembers(group), group.tasks().toString(), owners);
    }

    private static Map<String, String> listMembers(BrokerGroup group) {
        Map<String, String> members = new TreeMap<>();
        group.members().forEach(member -> members.put(member.key(), member.process()));
        return members;
    }

    /** Returns whether a group still has this state. A task in transit may have no owner. */
    public boolean fits(BrokerGroup group) {
        if (!topology.equals(group.tasks().toString()) || !members.equals(listMembers(group))) {
            return false;
        }
        for (Member member : group.members()) {
            for (int t : member.active()) {
                if (!member.process().equals(owners[t])) {
                    return false;
                }
            }
        }
        return true;
    }
}
