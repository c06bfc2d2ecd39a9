package io.github.optassign.plan;

import io.github.optassign.learn.Previous;
import io.github.optassign.model.Ranks;
import io.github.optassign.model.Snapshot;
import io.github.optassign.policy.LoadPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Plans actives of little restore work and few moves whose greatest load keeps to a level, or comes near to it.
 *
 * <p>Its passes:
 *
 * <ol>
 *   <li>{@link #findHomes} leaves each task on its cheapest client; tasks that cost the same on all are {@link #deal
 *       dealt}, longest first.
 *   <li>{@link #shed} has clients that carry too much give away what costs least for what it weighs.
 *   <li>{@link LoadTrades} trades regardless of cost where that is not enough, and {@link #returnHome} takes back what
 *       there is room for.
 *   <li>{@link #fillIdle} gives threads without a task one, and what may move for nothing evens out the rest.
 * </ol>
 */
public final class LoadPlacer {

    private final Snapshot snapshot;
    private final Ranks ranks;
    private final Previous previous;
    private final Loads loads;
    private final double level;
    private final int[] active;
    private double[] sums;
    private final int[] number;

    private record Place(double price, int client) {}

    /** A task that may leave its client, and what it costs more elsewhere. */
    private record Item(int task, double price) {}

    private LoadPlacer(Snapshot snapshot, Ranks ranks, Previous previous, Loads loads, double level) {
        this.snapshot = snapshot;
        this.ranks = ranks;
        this.previous = previous;
        this.loads = loads;
        this.level = level;
        active = new int[snapshot.taskCount()];
        Arrays.fill(active, -1);
        sums = new double[snapshot.clientCount()];
        number = new int[sums.length];
    }

    /**
     * Plans the actives.
     *
     * @param level greatest load, in even spreads, that is to be kept
     * @return per task its client
     */
    public static int[] place(Snapshot snapshot, Ranks ranks, Previous previous, Loads loads, double level) {
        LoadPlacer placer = new LoadPlacer(snapshot, ranks, previous, loads, level);
        placer.findHomes();
        boolean[] free = placer.deal();
        placer.trade(free, level);
        placer.shed();
        placer.fillIdle();
        if (loads.greatest(placer.active) > level * (1 + LoadPolicy.ROUNDING)) {
            boolean[] all = new boolean[free.length];
            Arrays.fill(all, true);
            placer.trade(all, level);
            placer.returnHome();
            placer.fillIdle();
        }
        placer.trade(free, LoadPolicy.EVEN);
        return placer.active;
    }

    private double price(int t, int c) {
        int owner = previous.owner(t);
        return ranks.cost(t, c) + (owner >= 0 && owner != c ? LoadPolicy.MOVE_OFFSETS : 0);
    }

    private void put(int t, int c) {
        if (active[t] >= 0) {
            sums[active[t]] -= loads.carried(t, active[t]);
            number[active[t]]--;
        }
        active[t] = c;
        sums[c] += loads.carried(t, c);
        number[c]++;
    }

    private void findHomes() {
        int[] busy = new int[sums.length];
        for (int t : loads.heaviestFirst()) {
            int pool = snapshot.poolClient(t);
            double least = pool < 0 ? Double.POSITIVE_INFINITY : price(t, pool);
            int home = -1;
            for (int c : snapshot.columnsAnd(t, previous.owner(t))) {
                boolean fits = loads.oversized[t]
                        ? busy[c] < loads.threads[c]
                                && loads.capacity[c] >= loads.oversizedCapacity * (1 - LoadPolicy.ROUNDING)
                        : loads.fitsThread(t, c, level);
                if (loads.isOpen(c) && fits && price(t, c) < least) {
                    least = price(t, c);
                    home = c;
                }
            }
            if (home >= 0) {
                put(t, home);
                busy[home] += loads.oversized[t] ? 1 : 0;
            }
        }
    }

    /** Deals the tasks without a home, longest first; per task whether it was. */
    private boolean[] deal() {
        boolean[] dealt = new boolean[active.length];
        int[] order =
                Arrays.stream(loads.heaviestFirst()).filter(t -> active[t] < 0).toArray();
        for (int i = 0; i < order.length; i++) {
            int lacking = 0;
            for (int c = 0; c < number.length; c++) {
                lacking += Math.max(0, loads.leastNumber[c] - number[c]);
            }
            boolean isForIdle = lacking > 0 && order.length - i <= lacking; // what is left is needed for idle threads
            int best = -1;
            double least = Double.POSITIVE_INFINITY;
            for (int c = 0; c < sums.length; c++) {
                if (!loads.isOpen(c) || (isForIdle && number[c] >= loads.leastNumber[c])) {
                    continue;
                }
                double end = Math.max(
                        (sums[c] + loads.carried(order[i], c)) / loads.size[c],
                        loads.weight[order[i]] / loads.capacity[c]);
                if (end < least) {
                    least = end;
                    best = c;
                }
            }
            put(order[i], best);
            dealt[order[i]] = true;
        }
        return dealt;
    }

    private void trade(boolean[] movable, double to) {
        LoadTrades.evenOut(loads, active, movable, to);
        sums = loads.sumUp(active);
        Arrays.fill(number, 0);
        for (int c : active) {
            number[c]++;
        }
    }

    /** Clients shed what is too much, the most loaded first, until none does or it does not go on. */
    private void shed() {
        boolean changed = true;
        for (int round = 0; round < LoadPolicy.PLACING_ROUNDS && changed; round++) {
            changed = false;
            int[] over = IntStream.range(0, sums.length)
                    .filter(this::isOver)
                    .boxed()
                    .sorted(Comparator.comparingDouble((Integer c) -> -sums[c] / loads.size[c])
                            .thenComparingInt(c -> c))
                    .mapToInt(c -> c)
                    .toArray();
            for (int c : over) {
                changed |= shed(c);
            }
        }
    }

    private boolean isOver(int c) {
        return sums[c] > loads.size[c] * level * (1 + LoadPolicy.ROUNDING);
    }

    private boolean shed(int c) {
        List<Item> items = new ArrayList<>();
        for (int t = 0; t < active.length; t++) {
            if (active[t] == c && !loads.oversized[t]) {
                Place place = findPlace(t, c);
                if (place.client >= 0) {
                    items.add(new Item(t, place.price - price(t, c)));
                }
            }
        }
        items.sort(Comparator.comparingDouble((Item item) -> item.price / loads.weight[item.task])
                .thenComparingDouble(item -> -loads.weight[item.task])
                .thenComparingInt(Item::task));
        double need = sums[c] - loads.size[c] * level;
        List<Item> leaving = new ArrayList<>();
        for (Item item : items) {
            if (need <= 0) {
                break;
            }
            leaving.add(item);
            need -= loads.weight[item.task];
        }
        double spare = -need;
        for (Item item : leaving.stream()
                .sorted(Comparator.comparingDouble(each -> -each.price))
                .toList()) {
            if (loads.weight[item.task] <= spare) { // enough leaves without it
                leaving.remove(item);
                spare -= loads.weight[item.task];
            }
        }
        leaving.sort(Comparator.comparingDouble((Item item) -> -loads.weight[item.task])
                .thenComparingInt(Item::task));
        boolean moved = false;
        for (Item item : leaving) {
            Place place = number[c] > loads.leastNumber[c] ? findPlace(item.task, c) : new Place(0, -1);
            if (place.client >= 0) {
                put(item.task, place.client);
                moved = true;
            }
        }
        return moved;
    }

    /** The cheapest other client with room, of equals the fullest; -1: none has. */
    private Place findPlace(int t, int from) {
        int best = -1;
        double least = 0;
        double leastRoom = 0;
        for (int c = 0; c < sums.length; c++) {
            double room = loads.size[c] * level * (1 + LoadPolicy.ROUNDING) - sums[c];
            if (c == from || !loads.isOpen(c) || room < loads.weight[t] || !loads.fitsThread(t, c, level)) {
                continue;
            }
            double price = price(t, c);
            if (best < 0 || price < least || (price == least && room < leastRoom)) {
                best = c;
                least = price;
                leastRoom = room;
            }
        }
        return new Place(least, best);
    }

    /** Tasks go back to cheaper clients, the dearest first, where there is room for them now. */
    private void returnHome() {
        Integer[] order = IntStream.range(0, active.length)
                .filter(t -> !loads.oversized[t] && price(t, active[t]) > 0)
                .boxed()
                .toArray(Integer[]::new);
        double[] now = new double[active.length];
        for (int t : order) {
            now[t] = price(t, active[t]);
        }
        Arrays.sort(order, Comparator.comparingDouble((Integer t) -> -now[t]).thenComparingInt(t -> t));
        for (int t : order) {
            int here = active[t];
            Place place = number[here] > loads.leastNumber[here] ? findPlace(t, here) : new Place(0, -1);
            if (place.client >= 0 && place.price < now[t]) {
                put(t, place.client);
            }
        }
    }

    /** Clients with idle threads get the cheapest tasks that they have room for, from clients that can spare one. */
    private void fillIdle() {
        for (int c = 0; c < sums.length; c++) {
            int best = 0;
            while (number[c] < loads.leastNumber[c] && best >= 0) {
                best = -1;
                double least = 0;
                for (int t = 0; t < active.length; t++) {
                    int from = active[t];
                    double room = loads.size[c] * level * (1 + LoadPolicy.ROUNDING) - sums[c];
                    boolean fits = loads.weight[t] <= room && loads.fitsThread(t, c, level);
                    if (from == c || loads.oversized[t] || number[from] <= loads.leastNumber[from] || !fits) {
                        continue;
                    }
                    double more = price(t, c) - price(t, from);
                    if (best < 0 || more < least) {
                        best = t;
                        least = more;
                    }
                }
                if (best >= 0) {
                    put(best, c);
                }
            }
        }
    }
}
