package io.github.optassign.plan;

import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.LoadPolicy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The weights of tasks and the sizes of clients (docs/reference/rules.md, "Balanced under load"). The load of a client
 * is the weight of its tasks divided by its size. The unit of loads is the <i>even spread</i>: 1 is the load of each
 * client if the weight of all tasks that are not oversized is spread evenly over clients that do not drain.
 *
 * <p>A task is oversized if its load on one thread exceeds the load of an even spread of all lighter tasks over the
 * other threads. An oversized task counts as one busy thread.
 */
public final class Loads {

    /** The weight of each task: the capacity that it fills at load 1; {@link #oversizedCapacity} if oversized. */
    final double[] weight;
    /** Whether each task is oversized. */
    final boolean[] oversized;
    /** The least capacity among the fastest threads, one for each oversized task; 0 if no task is oversized. */
    final double oversizedCapacity;
    /** The size of each client: threads times capacity; 0 if it drains. */
    final double[] size;
    /** The relative capacity of one thread of each client, 1 by default. */
    final double[] capacity;
    /** The number of threads of each client; 0 if it drains. */
    final int[] threads;
    /** The number of tasks that keep each client's threads busy; 0 if there are fewer tasks than threads in total. */
    final int[] leastNumber;

    /** All tasks: oversized tasks first, then the others, the heaviest first. */
    final int[] heaviestFirst;
    /** The number of threads of all clients that do not drain. */
    private final int totalThreads;

    /** Computes the loads of a snapshot for the given weights of its tasks. */
    public Loads(Snapshot snapshot, Weights weights) {
        int clients = snapshot.clientCount();
        size = new double[clients];
        capacity = new double[clients];
        threads = new int[clients];
        for (int c = 0; c < clients; c++) {
            boolean isStaying = !snapshot.isDraining(c);
            capacity[c] = snapshot.size(c) / 1e6 / snapshot.threads(c);
            threads[c] = isStaying ? snapshot.threads(c) : 0;
            size[c] = isStaying ? snapshot.size(c) / 1e6 : 0;
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

    /** Returns whether the client may have actives: it does not drain. */
    boolean mayHaveActives(int c) {
        return size[c] > 0;
    }

    /** Returns the weight that a task adds to a client: its own, but at least a thread's capacity if oversized. */
    public double weightOn(int t, int c) {
        return oversized[t] ? Math.max(weight[t], capacity[c]) : weight[t];
    }

    /** Returns the weight of the tasks of each client, given the client of each task. */
    public double[] sumUp(int[] active) {
        double[] sums = new double[size.length];
        for (int t = 0; t < active.length; t++) {
            sums[active[t]] += weightOn(t, active[t]);
        }
        return sums;
    }

    /** Returns whether a task's {@link #weight} is a load of at most {@code level} for one thread of the client. */
    boolean fitsThread(int t, int c, double level) {
        return weight[t] <= level * capacity[c] * (1 + LoadPolicy.ROUNDING);
    }

    /** Returns the greatest load of any client or of a task on one thread; infinite if a draining client has a task. */
    public double greatestLoad(int[] active) {
        double[] sums = sumUp(active);
        double greatest = 0;
        for (int c = 0; c < sums.length; c++) {
            double load = mayHaveActives(c) ? sums[c] / size[c] : sums[c] > 0 ? Double.POSITIVE_INFINITY : 0;
            greatest = Math.max(greatest, load);
        }
        for (int t = 0; t < active.length; t++) {
            greatest = Math.max(greatest, weight[t] / capacity[active[t]]);
        }
        return greatest;
    }

    /** Returns the number of tasks of each client, given the client of each task. */
    int[] countTasks(int[] active) {
        int[] number = new int[size.length];
        for (int c : active) {
            number[c]++;
        }
        return number;
    }

    /** Returns the number of idle threads of all clients, less the threads for which there are no tasks. */
    public int countIdleThreads(int[] active) {
        int[] number = countTasks(active);
        int without = IntStream.range(0, number.length)
                .map(c -> Math.max(0, threads[c] - number[c]))
                .sum();
        return Math.max(0, without - Math.max(0, totalThreads - active.length));
    }

    /** Returns a lower bound of the greatest load: the mean or, if greater, the heaviest task on the fastest thread. */
    public double lowerBound() {
        double fastest = IntStream.range(0, size.length)
                .filter(this::mayHaveActives)
                .mapToDouble(c -> capacity[c])
                .max()
                .orElse(1);
        double heaviest = Arrays.stream(weight).max().orElse(0);
        double mean = Arrays.stream(weight).sum() / Arrays.stream(size).sum();
        return Math.max(mean, heaviest / fastest);
    }
}
