package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.TaskTable;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * A check for faults that Kafka does not detect and that would stop tasks or end applications: a task that is active on
 * no member or on two, two copies of a task in a process, a standby of a task without a changelog. Unknown members and
 * tasks have no index, so an answer cannot contain them.
 */
public final class MemberAnswerCheck {
    private MemberAnswerCheck() {}

    /** Returns a description of the first fault, or null if there is none. */
    public static String findFault(BrokerGroup group, MemberAnswer answer) {
        TaskTable tasks = group.tasks();
        if (answer.size() != group.members().size()) {
            return "found an answer for " + answer.size() + " members; allowed: for each of the "
                    + group.members().size();
        }
        int[] owner = new int[tasks.size()];
        Arrays.fill(owner, -1);
        for (int m = 0; m < answer.size(); m++) {
            for (int t : answer.active(m)) {
                if (owner[t] >= 0) {
                    return "found task " + tasks.describe(t) + " active twice; allowed: once";
                }
                owner[t] = m;
            }
        }
        for (int t = 0; t < owner.length; t++) {
            if (owner[t] < 0) {
                return "found task " + tasks.describe(t) + " active nowhere; allowed: once";
            }
        }
        return findFaultOfStandbys(group, answer, owner);
    }

    private static String findFaultOfStandbys(BrokerGroup group, MemberAnswer answer, int[] owner) {
        TaskTable tasks = group.tasks();
        Set<String> copies = new HashSet<>();
        for (int m = 0; m < answer.size(); m++) {
            String process = group.members().get(m).process();
            for (int t : answer.standby(m)) {
                if (!tasks.isLogged(t)) {
                    return "found a standby of task " + tasks.describe(t) + ", which has no changelog; allowed: none";
                }
                boolean hasActive = group.members().get(owner[t]).process().equals(process);
                if (hasActive || !copies.add(t + " " + process)) {
                    return "found task " + tasks.describe(t) + " twice in process " + process + "; allowed: once";
                }
            }
        }
        return null;
    }
}
