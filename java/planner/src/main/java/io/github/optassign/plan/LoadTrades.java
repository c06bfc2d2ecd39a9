package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Actives that clients trade by weight: loads beyond a level and idle threads cost most, then the prices of actives.
 * Copies are the tasks; behind them each client has a free place, by which an active is handed over.
 *
 * <p>The search begins with trades that move few tasks, and allows more once none gains: exchanges, then clients beyond
 * the level and trades in threes, in the end {@link #handOver}.
 */
final class LoadTrades extends PlanningStep implements Trades.Objective {
    /** The trades that are allowed; each kind includes those before it. */
    private enum Allowed {
        HAND_OVER,
        EXCHANGE,
        /** A client may take tasks beyond the level. */
        OVERFILL
    }

    private final Loads loads;
    private final LoadPlacer placer;
    private final boolean[] movable;
    /** The greatest load to reach. */
    private final double level;
    /** The price of a weight of 1 beyond the level, or of an idle thread, above all other prices. */
    private final double penalty;
    /** Per task its client. */
    private final int[] active;
    /** Per client the weight and the number of its tasks. */
    private final double[] sums;

    private final int[] number;
    /** Per client the tasks that may move, lightest first. */
    private final List<List<Integer>> tasks = new ArrayList<>();

    private Allowed allowed = Allowed.HAND_OVER;
    /** The clients that may have actives, the least loaded first, as of the beginning of the round. */
    private int[] byLoad = {};
    /** The least loaded clients, which take tasks in this round. */
    private int[] targets = {};
    /** Per task its least price on any client. */
    private final double[] cheapest;
    /** Per task how much more than now it costs on its cheapest other client. */
    private final double[] moreElsewhere;
    /** The load up to which clients take tasks for those of the present seeker. */
    private double limit;
    /** Per client whether it has handed over a task that it had no trade for. */
    private final boolean[] hasEscaped;
    /** The least greatest load without a trade that gains, and its actives. */
    private double least = Double.POSITIVE_INFINITY;

    private int[] best = {};

    private LoadTrades(LoadPlacer placer, int[] actives, boolean[] movable, double level) {
        super(placer);
        this.placer = placer;
        loads = placer.loads;
        this.movable = movable;
        this.level = level * (1 + LoadPolicy.ROUNDING);
        active = actives.clone();
        sums = loads.sumUp(active);
        number = new int[sums.length];
        hasEscaped = new boolean[sums.length];
        cheapest = new double[active.length];
        moreElsewhere = new double[active.length];
        Stream.generate(() -> new ArrayList<Integer>()).limit(sums.length).forEach(tasks::add);
        double dearest = LoadPolicy.MOVE_OFFSETS;
        for (int t = 0; t < active.length; t++) {
            number[active[t]]++;
            if (mayMove(t)) {
                tasks.get(active[t]).add(t);
            }
            cheapest[t] = Double.POSITIVE_INFINITY;
            for (int c : snapshot.columnsAnd(t, snapshot.poolClient(t), active[t])) {
                cheapest[t] = Math.min(cheapest[t], placer.price(t, c));
                dearest = Math.max(dearest, placer.price(t, c));
            }
        }
        tasks.forEach(each -> each.sort(Comparator.comparingDouble(t -> loads.weight[t])));
        penalty = 1_000_000 * dearest;
    }

    /** Lowers the greatest load to a level at low prices, or near it. @return per task its client after the trades */
    static int[] search(LoadPlacer placer, int[] actives, boolean[] movable, double level) {
        LoadTrades trades = new LoadTrades(placer, actives, movable, level);
        Trades.search(trades, LoadPolicy.TRADES);
        double greatest =
                Arrays.stream(trades.byLoad).mapToDouble(trades::load).max().orElse(0);
        return greatest > trades.least ? trades.best : trades.active;
    }

    private boolean mayMove(int t) {
        return movable[t] && !loads.oversized[t];
    }

    private boolean isFree(int copy) {
        return copy >= active.length;
    }

    private double load(int c) {
        return sums[c] / loads.size[c];
    }

    /** Returns the weight that a client can take up to the level; below 0 if it is beyond. */
    private double measureRoom(int c) {
        return loads.size[c] * level - sums[c];
    }

    /** Returns tasks to leave clients beyond the level or with a cheaper client, then places on idle threads. */
    @Override
    public int[] listSeekers() {
        byLoad = sort(IntStream.range(0, sums.length).filter(loads::isOpen), Comparator.comparingDouble(this::load));
        targets = Arrays.stream(byLoad)
                .filter(c -> !hasEscaped[c])
                .limit(2 * LoadPolicy.PARTNERS)
                .toArray();
        for (int t = 0; t < active.length; t++) {
            double now = placer.price(t, active[t]);
            moreElsewhere[t] = mayMove(t) && (now > cheapest[t] || isLeaving(t)) ? findLeastPrice(t) - now : 0;
        }
        IntStream leaving =
                IntStream.range(0, active.length).filter(t -> mayMove(t) && (isLeaving(t) || moreElsewhere[t] < 0));
        Comparator<Integer> order = Comparator.comparing((Integer t) -> !isLeaving(t))
                .thenComparingDouble(t -> moreElsewhere[t] / loads.weight[t])
                .thenComparingDouble(t -> -loads.weight[t]);
        IntStream idle = Arrays.stream(byLoad)
                .filter(c -> number[c] < loads.leastNumber[c])
                .map(c -> active.length + c);
        return IntStream.concat(Arrays.stream(sort(leaving, order)), idle).toArray();
    }

    private boolean isBeyond(int t) {
        return measureRoom(active[t]) < 0;
    }

    /** Returns whether the client is beyond the level; with overfilled clients only the most loaded counts. */
    private boolean isLeaving(int t) {
        return isBeyond(t) && (allowed != Allowed.OVERFILL || active[t] == findMostLoaded());
    }

    private int findMostLoaded() {
        return byLoad[byLoad.length - 1];
    }

    /** Returns the least price of a task on other clients with room to hand it over; infinite without such clients. */
    private double findLeastPrice(int t) {
        return Arrays.stream(snapshot.columnsAnd(t, targets))
                .filter(c -> mayGo(t, c) && (allowed != Allowed.HAND_OVER || measureRoom(c) >= loads.weight[t]))
                .mapToDouble(c -> placer.price(t, c))
                .min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    private boolean mayGo(int t, int c) {
        return c != active[t] && !hasEscaped[c] && loads.isOpen(c) && fitsThread(t, c);
    }

    /** Returns whether a thread of the client can run the task at the level, or at no greater load than now. */
    private boolean fitsThread(int t, int c) {
        return loads.fitsThread(t, c, Math.max(level, loads.weight[t] / loads.capacity[active[t]]));
    }

    /** Returns places on clients that the task may have state on and on the targets, the fullest clients first. */
    @Override
    public int[] listPartners(int seeker) {
        int here = client(seeker);
        limit = allowed != Allowed.OVERFILL ? level : Math.max(level, load(here));
        if (isFree(seeker)) {
            return number[here] >= loads.leastNumber[here]
                    ? new int[0]
                    : IntStream.range(0, active.length).toArray();
        }
        if (!isBeyond(seeker) && moreElsewhere[seeker] >= 0) {
            return new int[0];
        }
        return Arrays.stream(snapshot.columnsAnd(seeker, targets))
                .filter(c -> mayGo(seeker, c))
                .boxed()
                .sorted(Comparator.comparingDouble(c -> -load(c)))
                .flatMapToInt(c -> listPlaces(c, loads.weight[seeker] - measureTransfer(here, c)))
                .toArray();
    }

    /** Returns the weight to bring from a client to another: as much as is beyond the level, or makes loads equal. */
    private double measureTransfer(int here, int there) {
        double toEqual = (sums[here] * loads.size[there] - sums[there] * loads.size[here])
                / (loads.size[here] + loads.size[there]);
        double most = Math.max(measureRoom(there), allowed != Allowed.OVERFILL ? 0 : toEqual);
        return Math.min(most, Math.max(0, -measureRoom(here)));
    }

    /** Returns the free place of a client and, if tasks may be exchanged, up to two tasks of nearly a weight. */
    private IntStream listPlaces(int c, double weight) {
        List<Integer> theirs = allowed == Allowed.HAND_OVER ? List.of() : tasks.get(c);
        int place = countLighter(theirs, weight);
        List<Integer> near = theirs.subList(Math.max(0, place - 1), Math.min(theirs.size(), place + 1));
        return IntStream.concat(IntStream.of(active.length + c), near.stream().mapToInt(t -> t));
    }

    private int countLighter(List<Integer> sorted, double weight) {
        int low = 0;
        int high = sorted.size();
        while (low < high) {
            int middle = (low + high) / 2;
            if (loads.weight[sorted.get(middle)] < weight) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    @Override
    public int client(int copy) {
        return isFree(copy) ? copy - active.length : active[copy];
    }

    @Override
    public double measureRise(int copy, int place) {
        int c = client(place);
        int more = (isFree(copy) ? 0 : 1) - (isFree(place) ? 0 : 1);
        int lacking = loads.leastNumber[c] - number[c];
        double sum = sums[c] + weigh(copy) - weigh(place);
        boolean mayHave = isFree(copy) || (mayMove(copy) && fitsThread(copy, c));
        if (!mayHave || sum > Math.max(sums[c], limit * loads.size[c]) || (more < 0 && lacking >= 0)) {
            return Double.POSITIVE_INFINITY;
        }
        double idle = Math.max(0, lacking - more) - Math.max(0, lacking);
        return measureExcess(c, sum) - measureExcess(c, sums[c]) + penalty * idle + price(copy, c) - price(place, c);
    }

    private double weigh(int copy) {
        return isFree(copy) ? 0 : loads.weight[copy];
    }

    private double price(int copy, int c) {
        return isFree(copy) ? 0 : placer.price(copy, c);
    }

    /** Returns the cost of the weight beyond the level. Its square makes the greatest loads fall first. */
    private double measureExcess(int c, double sum) {
        double excess = Math.max(0, sum / loads.size[c] - level);
        return penalty * loads.size[c] * (excess + excess * excess);
    }

    @Override
    public double leastGain(int seeker) {
        int here = client(seeker);
        return Math.max(LoadPolicy.MOVE_OFFSETS / 2, LoadPolicy.LEAST_GAIN * measureExcess(here, sums[here]));
    }

    @Override
    public int countInThrees() {
        return allowed != Allowed.OVERFILL ? 0 : LoadPolicy.PARTNERS;
    }

    @Override
    public boolean escape() {
        if (allowed == Allowed.OVERFILL) {
            return handOver();
        }
        allowed = Allowed.values()[allowed.ordinal() + 1];
        return true;
    }

    /**
     * Hands the lightest task of the most loaded client to the least loaded one, which may trade on with many others;
     * the first then takes none back. Many clients together can take what one cannot.
     */
    private boolean handOver() {
        int giver = findMostLoaded();
        if (load(giver) < least) {
            least = load(giver);
            best = active.clone();
        }
        if (measureRoom(giver) >= 0
                || hasEscaped[giver]
                || tasks.get(giver).isEmpty()
                || number[giver] <= loads.leastNumber[giver]) {
            return false;
        }
        hasEscaped[giver] = true;
        int lightest = tasks.get(giver).get(0);
        for (int taker : targets) {
            if (tasks.get(taker).size() > 2 && mayGo(lightest, taker)) {
                take(lightest);
                put(lightest, taker);
                return true;
            }
        }
        return false;
    }

    @Override
    public void take(int copy) {
        if (!isFree(copy)) {
            int from = active[copy];
            tasks.get(from).remove((Integer) copy);
            number[from]--;
            sums[from] -= loads.weight[copy];
        }
    }

    @Override
    public void put(int copy, int to) {
        if (!isFree(copy)) {
            active[copy] = to;
            tasks.get(to).add(countLighter(tasks.get(to), loads.weight[copy]), copy);
            number[to]++;
            sums[to] += loads.weight[copy];
        }
    }
}
