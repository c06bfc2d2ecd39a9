package io.github.optassign.testing;

import io.github.optassign.model.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** An independent check of rules R1 to R6 against a test group, without the plug-in's own ranks. */
public final class Rules {
    private final TestGroup group;
    private final Answer answer;
    private final List<String> broken = new ArrayList<>();

    private Rules(TestGroup group, Answer answer) {
        this.group = group;
        this.answer = answer;
    }

    /** Returns the rules that an answer breaks, provided that no task is in transit. */
    public static List<String> broken(TestGroup group, Answer answer) {
        Rules rules = new Rules(group, answer);
        rules.check();
        return rules.broken;
    }

    private void check() {
        Map<String, List<Integer>> active = new TreeMap<>();
        Map<String, Set<Integer>> standby = new HashMap<>();
        int warmups = 0;
        for (String task : group.tasks.keySet()) {
            active.put(task, new ArrayList<>());
            standby.put(task, new HashSet<>());
        }
        for (int c = 0; c < group.clients.size(); c++) {
            String name = group.client(c).name();
            Answer.Client given = answer.clients().stream()
                    .filter(a -> a.processId().equals(name))
                    .findFirst()
                    .orElseThrow();
            Set<String> seen = new HashSet<>();
            for (List<String> list : List.of(given.active(), given.standby(), given.warmup())) {
                for (String id : list) {
                    if (!seen.add(id)) {
                        broken.add("R2 " + id + " twice on " + name);
                    }
                }
            }
            for (String id : given.active()) {
                active.get(id).add(c);
            }
            for (String id : given.standby()) {
                standby.get(id).add(c);
            }
            for (String id : given.warmup()) {
                warmups++;
                if (group.tasks.get(id) != TestGroup.Kind.LOGGED) {
                    broken.add("R6 warm-up of " + id);
                }
            }
        }
        if (warmups > group.warmups) {
            broken.add("R6 " + warmups + " warm-ups");
        }
        active.forEach((task, owners) -> check(task, owners, standby.get(task)));
    }

    private void check(String task, List<Integer> active, Set<Integer> standby) {
        if (active.size() != 1) {
            broken.add("R1 " + task + " active on " + active);
            return;
        }
        boolean logged = group.tasks.get(task) == TestGroup.Kind.LOGGED;
        int wanted = logged ? Math.min(group.standbys, group.clients.size() - 1) : 0;
        if (standby.size() != wanted) {
            broken.add("R4 " + task + " has standbys on " + standby);
        }
        if (!logged) {
            return;
        }
        for (int c = 0; c < group.clients.size(); c++) {
            if (rank(task, c) < rank(task, active.get(0))) {
                broken.add("R3 " + task + " active on " + active + ", less on " + c);
            }
            for (int s : standby) {
                if (c != active.get(0) && !standby.contains(c) && rank(task, c) < rank(task, s)) {
                    broken.add("R5 " + task + " standby on " + s + ", less on " + c);
                }
            }
        }
    }

    private long rank(String task, int c) {
        TestGroup.Client client = group.client(c);
        long lag = group.kafkaLags(client).get(task);
        if (group.acceptableLag == Long.MAX_VALUE || lag == -2) {
            return 0;
        }
        if (lag == -3) {
            return client.lists(task) ? 1 : 2;
        }
        return lag <= group.acceptableLag ? 0 : lag;
    }
}
