package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.group.TaskTable;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Looks for what Kafka does not look for in an answer, and what would stop tasks or end applications: a task that is
 * active nowhere or twice, a second copy of it in one process, a standby of a task without a changelog. Members and
 * tasks that do not exist have no index, so an answer cannot have them.
 */
public final class MemberAnswerCheck {
    private MemberAnswerCheck() {}

    /** Returns the first thing that is wrong, in words; null: nothing is. */
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
                boolean isBesideActive = group.members().get(owner[t]).process().equals(process);
                if (isBesideActive || !copies.add(t + " " + process)) {
                    return "found task " + tasks.describe(t) + " twice in process " + process + "; allowed: once";
                }
            }
        }
        return null;
    }
}
