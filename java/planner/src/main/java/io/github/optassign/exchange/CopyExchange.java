package io.github.optassign.exchange;

import io.github.optassign.measuring.Ranks;
import io.github.optassign.measuring.Shares;
import io.github.optassign.measuring.TagSpread;
import io.github.optassign.memory.Previous;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Has clients exchange planned copies of logged tasks if the numbers of copies come nearer to their shares, or less is
 * restored, or more stays: standbys alone, or actives too, which keep their role on the new client.
 */
public final class CopyExchange extends Exchange {
    private static final int[] NONE = {};

    private final Snapshot snapshot;
    private final Previous previous;
    private final PlanCosts costs;
    private final TagSpread spread;
    private final Placement plan;
    private final boolean withActives;
    private final int[][] columns;

    /** Reads a plan, and changes it. */
    public CopyExchange(Snapshot snapshot, Ranks ranks, Previous previous, Placement plan, boolean withActives) {
        super(snapshot, count(snapshot, plan), findKinds(snapshot));
        this.snapshot = snapshot;
        this.previous = previous;
        this.plan = plan;
        this.withActives = withActives;
        costs = new PlanCosts(ranks);
        spread = new TagSpread(snapshot);
        columns = new int[snapshot.taskCount()][];
        for (int t = 0; t < columns.length; t++) {
            columns[t] = Snapshot.and(snapshot.columnsAnd(t, previous.owner(t)), previous.standbys(t));
        }
    }

    private static Counts count(Snapshot snapshot, Placement plan) {
        int subtopologies = snapshot.subtopologyCount();
        long[][] in = new long[subtopologies][snapshot.clientCount()];
        long[] inAll = new long[snapshot.clientCount()];
        long[] tasks = new long[subtopologies];
        long logged = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            if (!snapshot.isLogged(t)) {
                continue;
            }
            int g = snapshot.subtopology(t);
            logged++;
            tasks[g]++;
            in[g][plan.active()[t]]++;
            inAll[plan.active()[t]]++;
            for (int c : plan.standby()[t]) {
                in[g][c]++;
                inAll[c]++;
            }
        }
        int copiesPerTask = snapshot.standbysPerTask() + 1;
        Shares[] shares = Shares.ofEach(tasks, copiesPerTask, snapshot);
        Shares ofAll = Shares.of(logged, copiesPerTask, snapshot);
        return new Counts(shares, in, new boolean[subtopologies], null, null, ofAll, inAll);
    }

    /** Per client its kind: clients of one kind have the same tags, and all drain or none does. */
    private static int[] findKinds(Snapshot snapshot) {
        Map<List<Integer>, Integer> found = new HashMap<>();
        int[] kinds = new int[snapshot.clientCount()];
        for (int c = 0; c < kinds.length; c++) {
            List<Integer> traits = new ArrayList<>(List.of(snapshot.isDraining(c) ? 1 : 0));
            for (int k = 0; k < snapshot.tagCount(); k++) {
                traits.add(snapshot.tag(c, k));
            }
            kinds[c] = found.computeIfAbsent(traits, none -> found.size());
        }
        return kinds;
    }

    @Override
    int[] givers(int t) {
        if (!snapshot.isLogged(t)) {
            return NONE;
        }
        return withActives ? Snapshot.and(plan.standby()[t], plan.active()[t]) : plan.standby()[t];
    }

    @Override
    int[] columns(int t) {
        return columns[t];
    }

    @Override
    long measureChange(int t, int from, int to) {
        return costs.weigh(t, to, wasThere(t, to)) - costs.weigh(t, from, wasThere(t, from));
    }

    private boolean wasThere(int t, int c) {
        return previous.hadStandby(t, c) || (withActives && previous.owner(t) == c);
    }

    @Override
    boolean mayTake(int t, int from, int to) {
        return !plan.hasCopy(t, to)
                && (snapshot.isDraining(from) || !snapshot.isDraining(to))
                && spread.gain(plan, t, to, from) >= spread.gain(plan, t, from, from);
    }

    @Override
    void move(int t, int from, int to) {
        if (plan.active()[t] == from) {
            plan.active()[t] = to;
        } else {
            plan.removeStandby(t, from);
            plan.addStandby(t, to);
        }
    }
}
