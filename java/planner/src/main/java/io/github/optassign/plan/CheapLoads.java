package io.github.optassign.plan;

import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Lowers loads beyond a level and the number of idle threads, then the prices of actives on their clients. */
final class CheapLoads extends LoadTrades {
    /** The price of an active on a client. */
    interface Prices {
        double of(int t, int c);
    }

    private final Snapshot snapshot;
    private final Prices prices;
    /** The price of a weight of 1 beyond the level, or of an idle thread, above all other prices. */
    private final double penalty;

    private int[] targets = {};
    /** Per task how much more than now it costs on its cheapest other client, with room unless tasks are exchanged. */
    private final double[] moreElsewhere;
    /** Whether tasks may be exchanged, rather than only handed over. */
    private boolean mayExchange;

    private CheapLoads(Snapshot snapshot, Loads loads, int[] active, double level, Prices prices) {
        super(loads, active, all(active.length), level);
        this.snapshot = snapshot;
        this.prices = prices;
        moreElsewhere = new double[active.length];
        penalty = 1_000_000
                * IntStream.range(0, active.length)
                        .mapToDouble(t -> listPriced(t)
                                .mapToDouble(c -> prices.of(t, c))
                                .max()
                                .orElse(0))
                        .reduce(LoadPolicy.MOVE_OFFSETS, Math::max);
    }

    /**
     * Lowers the greatest load to a level at low prices, or near to it if no trade gains.
     *
     * @param active per task its client; changed
     */
    static void reach(Snapshot snapshot, Loads loads, int[] active, double level, Prices prices) {
        Trades.search(new CheapLoads(snapshot, loads, active, level, prices), LoadPolicy.PLACING_ROUNDS);
    }

    /** Returns clients of all prices that a task has. */
    private IntStream listPriced(int t) {
        return Arrays.stream(snapshot.columnsAnd(t, snapshot.poolClient(t), active[t]));
    }

    private double price(int copy, int c) {
        return isFree(copy) ? 0 : prices.of(copy, c);
    }

    private double measureRoom(int c) {
        return loads.size[c] * level * (1 + LoadPolicy.ROUNDING) - sums[c];
    }

    /**
     * Returns tasks of clients beyond the level, cheapest for their weight on other clients first; then tasks with a
     * cheaper client; then free places of clients with idle threads.
     */
    @Override
    public int[] listSeekers() {
        targets = chooseTargets(c -> true);
        Arrays.setAll(moreElsewhere, t -> {
            double now = prices.of(t, active[t]);
            return now > 0 || measureRoom(active[t]) < 0 ? findLeastPrice(t) - now : 0;
        });
        Comparator<Integer> cheapest = Comparator.comparingDouble(t -> moreElsewhere[t] / loads.weight[t]);
        Stream<Integer> leaving = byLoad.stream()
                .sorted(Comparator.comparingDouble(c -> -load(c)))
                .filter(c -> measureRoom(c) < 0)
                .flatMap(c -> tasks.get(c).stream().sorted(cheapest.thenComparing(byWeight.reversed())));
        Stream<Integer> returning = IntStream.range(0, active.length)
                .filter(t -> !loads.oversized[t] && moreElsewhere[t] < 0)
                .boxed()
                .sorted(Comparator.comparingDouble(t -> moreElsewhere[t]));
        Stream<Integer> idle =
                byLoad.stream().filter(c -> number[c] < loads.leastNumber[c]).map(c -> active.length + c);
        return Stream.of(leaving, returning, idle)
                .flatMap(each -> each)
                .mapToInt(copy -> copy)
                .toArray();
    }

    /** Returns the least price of a task on other clients with room; infinite if there is none. */
    private double findLeastPrice(int t) {
        double least = Double.POSITIVE_INFINITY;
        for (int[] clients : new int[][] {snapshot.columns(t), targets}) {
            for (int c : clients) {
                boolean hasRoom = mayExchange || measureRoom(c) >= loads.weight[t];
                least = hasRoom && mayGo(t, c) ? Math.min(least, prices.of(t, c)) : least;
            }
        }
        return least;
    }

    private boolean mayGo(int t, int c) {
        return c != active[t] && loads.isOpen(c) && loads.fitsThread(t, c, level);
    }

    /** Returns places on clients that the task may have state on, and on other targets; the fullest clients first. */
    @Override
    public int[] listPartners(int seeker) {
        int here = client(seeker);
        if (isFree(seeker)) {
            return number[here] >= loads.leastNumber[here]
                    ? new int[0]
                    : IntStream.range(0, active.length).toArray();
        }
        double beyond = Math.max(0, -measureRoom(here));
        if (beyond == 0 && moreElsewhere[seeker] >= 0) {
            return new int[0];
        }
        boolean isAnyPrice = mayExchange && beyond > 0;
        double most = prices.of(seeker, here) + moreElsewhere[seeker];
        return Arrays.stream(snapshot.columnsAnd(seeker, targets))
                .filter(c -> mayGo(seeker, c) && (isAnyPrice || prices.of(seeker, c) <= most))
                .boxed()
                .sorted(Comparator.comparingDouble(c -> -load(c)))
                .flatMapToInt(c -> listPlaces(c, loads.weight[seeker] - beyond).limit(mayExchange ? Long.MAX_VALUE : 1))
                .toArray();
    }

    @Override
    double findLimit(int t, int place) {
        return level;
    }

    @Override
    double measureRise(int copy, int place, int c) {
        int more = (isFree(copy) ? 0 : 1) - (isFree(place) ? 0 : 1);
        int lacking = loads.leastNumber[c] - number[c];
        double room = measureRoom(c);
        double change = measureChange(copy, place);
        if (change > Math.max(0, room)) {
            return Double.POSITIVE_INFINITY;
        }
        double beyond = Math.max(0, change - room) - Math.max(0, -room);
        double idle = Math.max(0, lacking - more) - Math.max(0, lacking);
        return penalty * (beyond + idle) + price(copy, c) - price(place, c);
    }

    @Override
    public double leastGain(int seeker) {
        return LoadPolicy.MOVE_OFFSETS / 2;
    }

    /** Allows exchanges, which are two moves, once no task can be handed over. */
    @Override
    public boolean escape() {
        boolean isFirst = !mayExchange;
        mayExchange = true;
        return isFirst;
    }
}
