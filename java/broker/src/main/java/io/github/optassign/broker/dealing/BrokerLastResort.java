package io.github.optassign.broker.dealing;

import io.github.optassign.broker.group.BrokerGroup;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * The answer of last resort, if the planner fails, which is a bug. The previous assignment is kept; a task without an
 * owner goes to a member with a standby of it, otherwise to the least loaded member. It uses neither the planner nor
 * lags nor memory.
 */
public final class BrokerLastResort {
    private BrokerLastResort() {}

    /** Returns an answer with every task active on one member. */
    public static MemberAnswer answer(BrokerGroup group) {
        int members = group.members().size();
        MemberAnswer answer = new MemberAnswer(members);
        if (members == 0) {
            return answer;
        }
        int[] owner = new int[group.tasks().size()];
        Arrays.fill(owner, -1);
        for (int m = 0; m < members; m++) {
            for (int t : group.members().get(m).active()) {
                owner[t] = owner[t] < 0 ? m : owner[t];
            }
        }
        int[] load = new int[members];
        for (int m : owner) {
            if (m >= 0) {
                load[m]++;
            }
        }
        boolean[] holds = new boolean[members];
        for (int t = 0; t < owner.length; t++) {
            if (owner[t] < 0) {
                for (int m = 0; m < members; m++) {
                    holds[m] = Arrays.binarySearch(group.members().get(m).standby(), t) >= 0;
                }
                owner[t] = findLeastLoaded(holds, load);
                load[owner[t]]++;
            }
            answer.addActive(owner[t], t);
        }
        keepStandbys(group, owner, answer);
        return answer;
    }

    private static int findLeastLoaded(boolean[] holds, int[] load) {
        int best = 0;
        for (int m = 1; m < load.length; m++) {
            if (holds[m] != holds[best] ? holds[m] : load[m] < load[best]) {
                best = m;
            }
        }
        return best;
    }

    private static void keepStandbys(BrokerGroup group, int[] owner, MemberAnswer answer) {
        Set<String> copies = new HashSet<>();
        for (int m = 0; m < answer.size(); m++) {
            String process = group.members().get(m).process();
            for (int t : group.members().get(m).standby()) {
                boolean hasActive = group.members().get(owner[t]).process().equals(process);
                if (group.tasks().isLogged(t) && !hasActive && copies.add(t + " " + process)) {
                    answer.addStandby(m, t);
                }
            }
        }
    }
}
