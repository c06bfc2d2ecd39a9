package io.github.optassign.plan;

import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The weights of tasks and the sizes of clients (docs/reference/rules.md, "Balanced under load"). Loads are in even
 * spreads: 1 is a client's load if all balanceable weight is spread evenly over the threads of clients that do not
 * drain.
 *
 * <p>A task is oversized if it is heavier than an even spread of all lighter tasks; it counts as one busy thread.
 */
public final class Loads {

    /** Per task its weight in even spreads; if oversized, the capacity of the slowest thread for such tasks. */
    final double[] weight;

    final boolean[] oversized;
    /** The capacity of the slowest thread that oversized tasks need. */
    final double oversizedCapacity;
    /** Per client threads times capacity; 0 if it drains. */
    final double[] size;
    /** Per client the capacity of one thread. */
    final double[] capacity;
    /** Per client its threads; 0 if it drains. */
    final int[] threads;
    /** Per client the number of tasks below which it has idle threads while others have two tasks on one. */
    final int[] leastNumber;

    /** All tasks, oversized ones first, then the heaviest. */
    final int[] heaviestFirst;

    private final int totalThreads;

    /** Reads a snapshot with weights. */
    public Loads(Snapshot snapshot, Weights weights) {
        int clients = snapshot.clientCount();
        size = new double[clients];
        capacity = new double[clients];
        threads = new int[clients];
        for (int c = 0; c < clients; c++) {
            boolean isOpen = !snapshot.isDraining(c);
            capacity[c] = snapshot.size(c) / 1e6 / snapshot.threads(c);
            threads[c] = isOpen ? snapshot.threads(c) : 0;
            size[c] = isOpen ? snapshot.size(c) / 1e6 : 0;
        }
        totalThreads = Arrays.stream(threads).sum();
        double[] raw = weights.ofTask();
        leastNumber = totalThreads <= raw.length ? threads : new int[clients];
        oversized = new boolean[raw.length];
        int[] heaviest = PlanningStep.sort(IntStream.range(0, raw.length), Comparator.comparingDouble(t -> -raw[t]));
        double[] fastest = IntStream.range(0, clients)
                .boxed()
                .sorted(Comparator.comparingDouble(c -> -capacity[c]))
                .flatMapToDouble(c -> IntStream.range(0, threads[c]).mapToDouble(thread -> capacity[c]))
                .toArray();
        double left = Arrays.stream(raw).sum();
        double room = Arrays.stream(size).sum();
        double slowest = 0;
        for (int i = 0; i < Math.min(raw.length, fastest.length); i++) {
            int t = heaviest[i];
            if (raw[t] * room <= left * fastest[i] * (1 + LoadPolicy.ROUNDING)) {
                break;
            }
            oversized[t] = true;
            slowest = fastest[i];
            left -= raw[t];
            room -= fastest[i];
        }
        oversizedCapacity = slowest;
        heaviestFirst = IntStream.concat(
                        IntStream.range(0, raw.length).filter(t -> oversized[t]),
                        Arrays.stream(heaviest).filter(t -> !oversized[t]))
                .toArray();
        double even = IntStream.range(0, raw.length)
                        .filter(t -> !oversized[t])
                        .mapToDouble(t -> raw[t])
                        .sum()
                / Math.max(room, 1e-12);
        weight = new double[raw.length];
        for (int t = 0; t < raw.length; t++) {
            weight[t] = oversized[t] ? oversizedCapacity : raw[t] / (even > 0 ? even : 1);
        }
    }

    /** Returns whether the client may have actives. */
    boolean isOpen(int c) {
        return size[c] > 0;
    }

    /** Returns a task's part of a client's load; at least a whole thread if the task is oversized. */
    public double carried(int t, int c) {
        return oversized[t] ? Math.max(weight[t], capacity[c]) : weight[t];
    }

    /** Returns per client the weight of its tasks. Tasks with client -1 are left out. */
    public double[] sumUp(int[] active) {
        double[] sums = new double[size.length];
        for (int t = 0; t < active.length; t++) {
            if (active[t] >= 0) {
                sums[active[t]] += carried(t, active[t]);
            }
        }
        return sums;
    }

    /** Returns whether one thread of the client can run the task at a load of at most {@code level}. */
    boolean fitsThread(int t, int c, double level) {
        return weight[t] <= level * capacity[c] * (1 + LoadPolicy.ROUNDING);
    }

    /** Returns the greatest load of any client; infinite if a draining one has a task. */
    public double greatest(int[] active) {
        double[] sums = sumUp(active);
        double greatest = 0;
        for (int c = 0; c < sums.length; c++) {
            double load = isOpen(c) ? sums[c] / size[c] : sums[c] > 0 ? Double.POSITIVE_INFINITY : 0;
            greatest = Math.max(greatest, load);
        }
        for (int t = 0; t < active.length; t++) {
            greatest = Math.max(greatest, weight[t] / capacity[active[t]]);
        }
        return greatest;
    }

    /** Returns the number of threads that are idle although there are tasks enough. */
    public int countIdle(int[] active) {
        int[] number = new int[threads.length];
        for (int c : active) {
            number[c]++;
        }
        int without = IntStream.range(0, number.length)
                .map(c -> Math.max(0, threads[c] - number[c]))
                .sum();
        return Math.max(0, without - Math.max(0, totalThreads - active.length));
    }

    /** Returns a lower bound of the greatest load: the mean, or the heaviest task on the fastest thread. */
    public double bound() {
        double fastest = IntStream.range(0, size.length)
                .filter(this::isOpen)
                .mapToDouble(c -> capacity[c])
                .max()
                .orElse(1);
        double heaviest = Arrays.stream(weight).max().orElse(0);
        double mean = Arrays.stream(weight).sum() / Arrays.stream(size).sum();
        return Math.max(mean, heaviest / fastest);
    }
}
