package io.github.optassign.step;

import io.github.optassign.flow.MinCostFlow;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.plan.PlanningStep;
import io.github.optassign.policy.GreedyPolicy;
import io.github.optassign.policy.OffloadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;

/**
 * The temporary offload of clients with too many actives until the plan is reached (docs/reference/rules.md, "Temporary
 * offload"; {@code optassign_models/rebalance.py} does the same in the service). A stateless task may go to any client.
 * A logged task exchanges roles with a caught-up standby. No copy is added or removed.
 *
 * <p>The offload is a minimum-cost flow from tasks to clients. Each active beyond a client's share costs the seconds
 * until the plan is reached, and each move its price in seconds. Ties are broken by the number of tasks off the plan,
 * then by the number of moves. Tasks that may go to any client share a pool node.
 */
public final class Offload extends PlanningStep {
    /** The cost of a second, greater than the sum of all costs that only break ties. */
    private static final long SECOND = 1L << 20;
    /** The price, in seconds, of a move that is never made: more than an excess active can cost. */
    private static final long PROHIBITIVE_SECONDS = 1L << 21;
    /** The cost of a task off its planned client, to break ties. */
    private static final long OFF_TARGET = 1L << 10;
    /** The cost of a move in this rebalance, to break further ties. */
    private static final long MOVE = 1L << 4;

    /** A client that may run a task, or -1 for any client of the pool, and its arc. */
    private record Option(int task, int client, int arc) {}

    private final Placement plan;
    private final Placement answer;
    /** The prices of extra moves, in seconds of an excess active. */
    private final Timing.Prices prices;

    /** Creates the offload of an answer that has its warm-ups; {@link #offload} changes the answer. */
    public Offload(PlanningStep step, Placement plan, Placement answer, Timing.Prices prices) {
        super(step);
        this.plan = plan;
        this.answer = answer;
        this.prices = prices;
    }

    /**
     * Moves actives off clients above their share if leaving them there costs more than moving them. Does nothing if
     * the plan itself exceeds a share.
     *
     * @param toBalanceMs the expected time until the plan is reached, ms
     */
    public void offload(long toBalanceMs) {
        boolean isOff = Math.min(prices.stateless(), prices.logged()) >= OffloadPolicy.OFF_S;
        // If plans may exceed shares, numbers of tasks do not measure load.
        if (isOff
                || snapshot.configs().looseBalance()
                || plan.isAnyAboveShare(snapshot)
                || !answer.isAnyAboveShare(snapshot)) {
            return;
        }
        long[] room = answer.measureRoom(snapshot);
        if (previous.isPlanBinding()) { // the service may know that clients without planned actives leave
            long[] planned = plan.countActives(room.length);
            Arrays.setAll(room, c -> planned[c] > 0 ? room[c] : Math.min(0, room[c]));
        }
        moveActives(room, Math.min(toBalanceMs / 1_000, PROHIBITIVE_SECONDS - 1) * SECOND);
    }

    /** Moves actives along a flow of least cost, given each client's room and the price of an excess active. */
    private void moveActives(long[] room, long price) {
        MinCostFlow flow = new MinCostFlow();
        int[] clientNode = Arrays.stream(room).mapToInt(each -> flow.addNode(0)).toArray();
        int pool = flow.addNode(0);
        List<Option> options = new ArrayList<>();
        long[] capacity = room.clone();
        int moving = 0;
        for (int t = 0; t < snapshot.taskCount(); t++) {
            int[] clients = findOptions(t);
            if (clients.length > 0) {
                capacity[answer.active()[t]]++;
                int node = flow.addNode(1);
                moving++;
                for (int c : clients) {
                    options.add(new Option(t, c, flow.addArc(node, clientNode[c], 0, 1, cost(t, c))));
                }
                if (mayGoAnywhere(t)) {
                    options.add(new Option(t, -1, flow.addArc(node, pool, 0, 1, cost(t, -1))));
                }
            }
        }
        int sink = flow.addNode(-moving);
        int[] fromPool = new int[room.length];
        for (int c = 0; c < room.length; c++) {
            fromPool[c] = flow.addArc(pool, clientNode[c], 0, Integer.MAX_VALUE, 0);
            addRoom(flow, clientNode[c], sink, capacity[c], price);
        }
        flow.solve(GreedyPolicy.FLOW_WORK);
        PrimitiveIterator.OfInt poolClients = IntStream.range(0, room.length)
                .flatMap(c -> IntStream.generate(() -> c).limit(flow.flow(fromPool[c])))
                .iterator();
        for (Option option : options) {
            if (flow.flow(option.arc) > 0) {
                moveActive(option.task, option.client < 0 ? poolClients.nextInt() : option.client);
            }
        }
    }

    /** Adds arcs from a client to the sink: room in parts of rising cost, to fill evenly, then excess actives. */
    private static void addRoom(MinCostFlow flow, int client, int sink, long room, long price) {
        long below = 0;
        for (int layer = 0; layer < GreedyPolicy.OFFLOAD_LAYERS && room > 0; layer++) {
            long upTo = room * (layer + 1) / GreedyPolicy.OFFLOAD_LAYERS;
            flow.addArc(client, sink, 0, upTo - below, layer);
            below = upTo;
        }
        flow.addArc(client, sink, 0, Integer.MAX_VALUE, price);
    }

    /** Returns the clients, sorted, that a task has an arc of its own to, or an empty array if it may not move. */
    private int[] findOptions(int t) {
        int here = answer.active()[t];
        int owner = previous.owner(t);
        if (mayGoAnywhere(t)) {
            return Snapshot.union(new int[] {here}, plan.active()[t], owner);
        }
        // R10: a task in transit goes where the first pass of its move has put it.
        if (previous.isInTransit(t) || !snapshot.isLogged(t) || ranks.rank(t, here) > 0) {
            return new int[0];
        }
        if (here == owner) {
            int[] ready = Arrays.stream(answer.standby()[t])
                    .filter(c -> ranks.rank(t, c) == 0)
                    .toArray();
            return ready.length == 0 ? ready : Snapshot.union(ready, here);
        }
        // A task on its way to its planned client may stay with its owner for now.
        boolean mayStay = prices.logged() < OffloadPolicy.OFF_S && here == plan.active()[t];
        boolean maySwap = owner >= 0 && answer.hasStandby(t, owner) && ranks.rank(t, owner) == 0;
        return mayStay && maySwap ? Snapshot.union(new int[] {here}, owner) : new int[0];
    }

    /** Returns whether any client may run the task: it is stateless and not in transit. */
    private boolean mayGoAnywhere(int t) {
        return !snapshot.isStateful(t) && !previous.isInTransit(t);
    }

    /** Returns the cost of moves if client {@code c} runs the task; -1 is any client neither owner nor planned. */
    private long cost(int t, int c) {
        boolean movesNow = previous.owner(t) >= 0 && previous.owner(t) != c;
        boolean movesAgain = plan.active()[t] != c;
        long price = Math.min(snapshot.isLogged(t) ? prices.logged() : prices.stateless(), PROHIBITIVE_SECONDS);
        long moves = (movesNow ? 1 : 0) + (movesAgain ? 1 : 0);
        return moves * price * SECOND + (movesAgain ? OFF_TARGET : 0) + (movesNow ? MOVE : 0);
    }

    /** Makes the client run the task; if it has a standby, that goes to the client that ran the task. */
    private void moveActive(int t, int to) {
        if (answer.hasStandby(t, to)) {
            answer.removeStandby(t, to);
            answer.addStandby(t, answer.active()[t]);
        }
        answer.active()[t] = to;
    }
}
