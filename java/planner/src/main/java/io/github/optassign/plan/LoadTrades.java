package io.github.optassign.plan;

import io.github.optassign.policy.LoadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A local search that lowers the greatest load by trades of actives. Loads above a level and idle threads cost most;
 * ties are broken by the prices of actives.
 *
 * <p>Copy numbers below the number of tasks denote the actives of tasks. The following numbers denote one vacancy of
 * each client; a trade with a vacancy moves an active. If no trade gains, more trades are {@link Allowed}, and in the
 * end the state is {@link #perturb perturbed}.
 */
final class LoadTrades extends PlanningStep implements Trades.Objective {
    /** The trades that are allowed. Each constant includes the trades of those before it. */
    private enum Allowed {
        MOVE, // a task takes a vacancy
        EXCHANGE, // two tasks change places
        /** Clients may exceed the level, and trades may be three-way. */
        OVERFILL
    }

    private final Loads loads;
    private final LoadPlacer placer;
    private final boolean[] movable;
    /** The greatest load that costs no penalty. */
    private final double level;
    /** The cost of a weight of 1 above the level, or of an idle thread: far above all prices. */
    private final double penalty;
    /** The client of each task. */
    private final int[] active;
    /** The weight of each client's tasks. */
    private final double[] sums;
    /** The number of each client's tasks. */
    private final int[] number;
    /** The tasks of each client that may move, the lightest first. */
    private final List<List<Integer>> tasks = new ArrayList<>();

    private Allowed allowed = Allowed.MOVE;
    /** The clients that may have actives, the least loaded first, at the beginning of the round. */
    private int[] byLoad = {};
    /** The least loaded unperturbed clients at the start of the round, at most twice {@link LoadPolicy#PARTNERS}. */
    private int[] targets = {};
    /** The least price of each task on any client. */
    private final double[] cheapest;
    /** The price of each task on its cheapest other client, minus its present price. */
    private final double[] moreElsewhere;
    /** The greatest load to which a trade of the present seeker may raise a client. */
    private double limit;
    /** Whether {@link #perturb} has moved a task from each client, so that seekers no longer move there. */
    private final boolean[] isPerturbed;
    /** The lowest greatest load of all local optima so far, and its actives. */
    private double bestLoad = Double.POSITIVE_INFINITY;

    private int[] bestActive = {};

    private LoadTrades(LoadPlacer placer, int[] actives, boolean[] movable, double level) {
        super(placer);
        this.placer = placer;
        loads = placer.loads;
        this.movable = movable;
        this.level = level * (1 + LoadPolicy.ROUNDING);
        active = actives.clone();
        sums = loads.sumUp(active);
        number = loads.countTasks(active);
        isPerturbed = new boolean[sums.length];
        cheapest = new double[active.length];
        moreElsewhere = new double[active.length];
        Stream.generate(() -> new ArrayList<Integer>()).limit(sums.length).forEach(tasks::add);
        double dearest = LoadPolicy.MOVE_OFFSETS;
        for (int t = 0; t < active.length; t++) {
            if (isMovable(t)) {
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

    /** Returns each task's client after trades of {@code movable} tasks that lower the greatest load to a level. */
    static int[] search(LoadPlacer placer, int[] actives, boolean[] movable, double level) {
        LoadTrades trades = new LoadTrades(placer, actives, movable, level);
        if (trades.tasks.stream().allMatch(List::isEmpty)) {
            return actives;
        }
        Trades.search(trades, LoadPolicy.TRADES);
        double greatest =
                Arrays.stream(trades.byLoad).mapToDouble(trades::load).max().orElse(0);
        return greatest > trades.bestLoad ? trades.bestActive : trades.active;
    }

    /** Returns whether a task may be traded: the caller of the search allows it, and it is not oversized. */
    private boolean isMovable(int t) {
        return movable[t] && !loads.oversized[t];
    }

    private boolean isVacancy(int copy) {
        return copy >= active.length;
    }

    private double load(int c) {
        return sums[c] / loads.size[c];
    }

    /** Returns the weight that a client can take before it exceeds the level; negative if it exceeds the level now. */
    private double measureRoom(int c) {
        return loads.size[c] * level - sums[c];
    }

    /** Returns the tasks that should leave their clients or are cheaper elsewhere, then vacancies of idle threads. */
    @Override
    public int[] listSeekers() {
        byLoad = sort(
                IntStream.range(0, sums.length).filter(loads::mayHaveActives), Comparator.comparingDouble(this::load));
        targets = Arrays.stream(byLoad)
                .filter(c -> !isPerturbed[c])
                .limit(2 * LoadPolicy.PARTNERS)
                .toArray();
        for (int t = 0; t < active.length; t++) {
            double now = placer.price(t, active[t]);
            moreElsewhere[t] = isMovable(t) && (now > cheapest[t] || shouldLeave(t)) ? findLeastPrice(t) - now : 0;
        }
        IntStream leaving =
                IntStream.range(0, active.length).filter(t -> isMovable(t) && (shouldLeave(t) || moreElsewhere[t] < 0));
        Comparator<Integer> order = Comparator.comparing((Integer t) -> !shouldLeave(t))
                .thenComparingDouble(t -> moreElsewhere[t] / loads.weight[t])
                .thenComparingDouble(t -> -loads.weight[t]);
        IntStream idle = Arrays.stream(byLoad)
                .filter(c -> number[c] < loads.leastNumber[c])
                .map(c -> active.length + c);
        return IntStream.concat(Arrays.stream(sort(leaving, order)), idle).toArray();
    }

    /** Returns whether the client of a task exceeds the level. */
    private boolean isOnOverloaded(int t) {
        return measureRoom(active[t]) < 0;
    }

    /** Returns whether the task's client is overloaded and, if clients may be overfilled, is the most loaded client. */
    private boolean shouldLeave(int t) {
        return isOnOverloaded(t) && (allowed != Allowed.OVERFILL || active[t] == findMostLoaded());
    }

    /** Returns the most loaded client at the beginning of the round, perturbed or not. */
    private int findMostLoaded() {
        return byLoad[byLoad.length - 1];
    }

    /** Returns the least price of a task on other clients that may take it; infinite if there is no such client. */
    private double findLeastPrice(int t) {
        return Arrays.stream(snapshot.columnsAnd(t, targets))
                .filter(c -> mayMoveTo(t, c) && (allowed != Allowed.MOVE || measureRoom(c) >= loads.weight[t]))
                .mapToDouble(c -> placer.price(t, c))
                .min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    /** Returns whether another client may take a task, whatever its room: it is unperturbed and has fitting threads. */
    private boolean mayMoveTo(int t, int c) {
        return c != active[t] && !isPerturbed[c] && loads.mayHaveActives(c) && fitsThread(t, c);
    }

    /** Returns whether a thread of the client can run the task at the level, or at no more load than its thread now. */
    private boolean fitsThread(int t, int c) {
        return loads.fitsThread(t, c, Math.max(level, loads.weight[t] / loads.capacity[active[t]]));
    }

    /** Returns copies on a task's columns and {@link #targets}, most loaded first, or all tasks if it is a vacancy. */
    @Override
    public int[] listPartners(int seeker) {
        int here = client(seeker);
        limit = allowed != Allowed.OVERFILL ? level : Math.max(level, load(here));
        if (isVacancy(seeker)) {
            return number[here] >= loads.leastNumber[here]
                    ? new int[0]
                    : IntStream.range(0, active.length).toArray();
        }
        if (!isOnOverloaded(seeker) && moreElsewhere[seeker] >= 0) {
            return new int[0];
        }
        return Arrays.stream(snapshot.columnsAnd(seeker, targets))
                .filter(c -> mayMoveTo(seeker, c))
                .boxed()
                .sorted(Comparator.comparingDouble(c -> -load(c)))
                .flatMapToInt(c -> listPlaces(c, loads.weight[seeker] - measureTransfer(here, c)))
                .toArray();
    }

    /** Returns the weight to move: the excess here, at most the room there; overfilling may go up to equal loads. */
    private double measureTransfer(int here, int there) {
        double toEqual = (sums[here] * loads.size[there] - sums[there] * loads.size[here])
                / (loads.size[here] + loads.size[there]);
        double most = Math.max(measureRoom(there), allowed != Allowed.OVERFILL ? 0 : toEqual);
        return Math.min(most, Math.max(0, -measureRoom(here)));
    }

    /** Returns a client's vacancy and, if exchanges are allowed, its tasks next lighter and heavier than a weight. */
    private IntStream listPlaces(int c, double weight) {
        List<Integer> theirs = allowed == Allowed.MOVE ? List.of() : tasks.get(c);
        int place = countLighter(theirs, weight);
        List<Integer> near = theirs.subList(Math.max(0, place - 1), Math.min(theirs.size(), place + 1));
        return IntStream.concat(IntStream.of(active.length + c), near.stream().mapToInt(t -> t));
    }

    /** Returns the number of tasks below a weight in a list with the lightest first. */
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
        return isVacancy(copy) ? copy - active.length : active[copy];
    }

    @Override
    public double measureRise(int copy, int place) {
        int c = client(place);
        int more = (isVacancy(copy) ? 0 : 1) - (isVacancy(place) ? 0 : 1);
        int lacking = loads.leastNumber[c] - number[c];
        double sum = sums[c] + weigh(copy) - weigh(place);
        boolean mayHave = isVacancy(copy) || (isMovable(copy) && fitsThread(copy, c));
        if (!mayHave || sum > Math.max(sums[c], limit * loads.size[c]) || (more < 0 && lacking >= 0)) {
            return Double.POSITIVE_INFINITY;
        }
        double idle = Math.max(0, lacking - more) - Math.max(0, lacking);
        return measureExcess(c, sum) - measureExcess(c, sums[c]) + penalty * idle + price(copy, c) - price(place, c);
    }

    /** Returns the weight of a task, or 0 for a vacancy. */
    private double weigh(int copy) {
        return isVacancy(copy) ? 0 : loads.weight[copy];
    }

    /** Returns the price of a task on a client, or 0 for a vacancy. */
    private double price(int copy, int c) {
        return isVacancy(copy) ? 0 : placer.price(copy, c);
    }

    /** Returns the cost of the load above the level. It has a quadratic term, so that the greatest loads fall first. */
    private double measureExcess(int c, double sum) {
        double excess = Math.max(0, sum / loads.size[c] - level);
        return penalty * loads.size[c] * (excess + excess * excess);
    }

    /** Returns half a move's price or, if more, a share {@link LoadPolicy#LEAST_GAIN} of the client's excess cost. */
    @Override
    public double leastGain(int seeker) {
        int here = client(seeker);
        return Math.max(LoadPolicy.MOVE_OFFSETS / 2, LoadPolicy.LEAST_GAIN * measureExcess(here, sums[here]));
    }

    /** Returns {@link LoadPolicy#PARTNERS} if clients may be overfilled, or 0 if not. */
    @Override
    public int threeWayPartners() {
        return allowed != Allowed.OVERFILL ? 0 : LoadPolicy.PARTNERS;
    }

    /** Allows the next kind of trades; if all are allowed, perturbs the state. */
    @Override
    public boolean escape() {
        if (allowed == Allowed.OVERFILL) {
            return perturb();
        }
        allowed = Allowed.values()[allowed.ordinal() + 1];
        return true;
    }

    /** Moves the most loaded client's lightest task to the first fitting target. Returns false if no task moves. */
    private boolean perturb() {
        int giver = findMostLoaded();
        if (load(giver) < bestLoad) {
            bestLoad = load(giver);
            bestActive = active.clone();
        }
        if (measureRoom(giver) >= 0
                || isPerturbed[giver]
                || tasks.get(giver).isEmpty()
                || number[giver] <= loads.leastNumber[giver]) {
            return false;
        }
        isPerturbed[giver] = true;
        int lightest = tasks.get(giver).get(0); // the taker passes it on: many clients have room
        for (int taker : targets) {
            if (tasks.get(taker).size() > 2 && mayMoveTo(lightest, taker)) {
                move(lightest, taker);
                return true;
            }
        }
        return false;
    }

    @Override
    public void move(int copy, int to) {
        if (!isVacancy(copy)) {
            int from = active[copy];
            tasks.get(from).remove((Integer) copy);
            number[from]--;
            sums[from] -= loads.weight[copy];
            active[copy] = to;
            tasks.get(to).add(countLighter(tasks.get(to), loads.weight[copy]), copy);
            number[to]++;
            sums[to] += loads.weight[copy];
        }
    }
}
