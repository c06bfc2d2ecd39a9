package io.github.optassign.config;

import io.github.optassign.learn.InputRates;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.InputPolicy;
import io.github.optassign.policy.MeasuringPolicy;
import io.github.optassign.policy.OffloadPolicy;
import io.github.optassign.policy.WaitPolicy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The snapshot's options for the service in addition to Kafka's own configuration: weights of tasks, and the options of
 * docs/schema/options.md.
 *
 * @param preset null if not set
 * @param goals the names of goals, the first comes first; empty if not set
 * @param balanceFactor the width of the clients' shares of tasks, 1 or more; null if not set
 * @param followup the time of follow-ups: {@code estimate} or {@code interval}; null if not set
 * @param idleFollowupMs the time after which a group at rest rebalances, ms; 0 means never; null if not set
 * @param offload the seconds that an extra move has to save, by kind of task; empty if not set
 * @param optionWeights the weights of preset weighted, by their names in the options; empty if not set
 * @param loadOptions {@code load_tolerance}, {@code standby_load} and {@code min_gain}, as far as they are set
 * @param weighBy the source of weights for tasks that {@code taskWeights} does not name: {@code changelog} or
 *     {@code rates}; null if not set
 * @param taskWeights relative load by subtopology, as {@code 0} or {@code name__0}, or by task; empty if all weights
 *     are 1
 */
public record ServiceOptions(
        String preset,
        List<String> goals,
        Integer balanceFactor,
        String followup,
        Long idleFollowupMs,
        Map<String, Long> offload,
        Map<String, Double> optionWeights,
        Map<String, Double> loadOptions,
        String weighBy,
        Map<String, Double> taskWeights) {
    /** The options with nothing set. */
    public static final ServiceOptions NONE =
            new ServiceOptions(null, List.of(), null, null, null, Map.of(), Map.of(), Map.of(), null, Map.of());

    static final String INTERVAL = "interval";
    private static final String RATES = "rates";
    private static final String LOAD_TOLERANCE = "load_tolerance";
    private static final String STANDBY_LOAD = "standby_load";
    private static final String MIN_GAIN = "min_gain";
    private static final String STATELESS = "stateless";
    private static final String LOGGED = "logged";
    private static final Set<String> WEIGHED_BY = Set.of("changelog", RATES);
    private static final Pattern PRICE = Pattern.compile("(stateless|logged):(\\d{1,10})");
    private static final Pattern WEIGHT = Pattern.compile("((?:.+__)?\\d+(?:_\\d+)?):(.+)");

    /**
     * Returns only the options that the planner uses: follow-up, offload, load tolerance, least gain, source of
     * weights, and weights of tasks.
     */
    ServiceOptions withoutService() {
        Map<String, Double> planned = new TreeMap<>(loadOptions);
        planned.remove(STANDBY_LOAD);
        return new ServiceOptions(
                null, List.of(), null, followup, null, offload, Map.of(), planned, weighBy, taskWeights);
    }

    /**
     * Returns the weights of tasks for the planner in this JVM.
     *
     * @param rates the growth of the tasks' input
     * @return the weights; null if tasks have none, or other options leave the load to the service
     */
    public Weights weigh(Snapshot snapshot, InputRates rates) {
        if (!isAnyTaskWeighed() || isLoadLeftToService()) {
            return null;
        }
        double[] known = isWeighedByRates() ? rates.find(snapshot) : new double[snapshot.taskCount()];
        double[] fixed = new double[known.length];
        for (int t = 0; t < known.length; t++) {
            if (!isWeighedByRates()) {
                known[t] = weighBy == null ? -1 : snapshot.endOffset(t);
            }
            Double own = weight(snapshot.taskName(t));
            fixed[t] = own == null ? 0 : own;
        }
        return new Weights(
                Weights.relativeToMean(known, fixed),
                loadOptions.getOrDefault(LOAD_TOLERANCE, MeasuringPolicy.LOAD_TOLERANCE),
                loadOptions.getOrDefault(MIN_GAIN, MeasuringPolicy.LEAST_LOAD_GAIN));
    }

    /** Returns whether goals, a preset or standby loads decide on load, which only the service supports. */
    private boolean isLoadLeftToService() {
        return preset != null || !goals.isEmpty() || loadOptions.getOrDefault(STANDBY_LOAD, 0.0) > 0;
    }

    /** Returns whether the snapshot has options. Task weights alone are fields of the tasks, not an option. */
    public boolean isAnyOptionSet() {
        return preset != null
                || weighBy != null
                || !goals.isEmpty()
                || balanceFactor != null
                || followup != null
                || idleFollowupMs != null
                || !offload.isEmpty()
                || !optionWeights.isEmpty()
                || !loadOptions.isEmpty();
    }

    /** Returns whether each follow-up waits for {@code probing.rebalance.interval.ms} instead of the estimated time. */
    public boolean isFollowupByInterval() {
        return INTERVAL.equals(followup);
    }

    /** Returns the time after which a failed service is asked again by a group at rest, ms; 0 means never. */
    public long askAgainMs() {
        return idleFollowupMs == null ? WaitPolicy.IDLE_FOLLOWUP_MS : idleFollowupMs;
    }

    /** Returns the seconds that a move for offload has to save, by kind of task; unset prices have their defaults. */
    public Timing.Prices offloadPrices() {
        Timing.Prices defaults = Timing.Prices.DEFAULT;
        return new Timing.Prices(
                offload.getOrDefault(STATELESS, defaults.stateless()), offload.getOrDefault(LOGGED, defaults.logged()));
    }

    /** Returns whether task weights depend on the growth of each task's input. */
    public boolean isWeighedByRates() {
        return RATES.equals(weighBy);
    }

    /** Returns whether tasks have weights to balance. */
    public boolean isAnyTaskWeighed() {
        return weighBy != null || !taskWeights.isEmpty();
    }

    /** Returns whether plans may exceed the shares of tasks that the plug-in computes from counts. */
    public boolean isBalanceLoose() {
        return "weighted".equals(preset) || (balanceFactor != null && balanceFactor > 1) || isAnyTaskWeighed();
    }

    /** Returns the weight set for a task or, without one, for its subtopology; null if neither is set. */
    public Double weight(String task) {
        if (taskWeights.isEmpty()) {
            return null;
        }
        Double own = taskWeights.get(task);
        return own != null ? own : taskWeights.get(task.substring(0, task.lastIndexOf('_')));
    }

    static ServiceOptions of(Map<String, Object> parsed) {
        return new ServiceOptions(
                (String) parsed.get(ConfigKeys.PRESET),
                toTexts(parsed.get(ConfigKeys.GOALS)),
                (Integer) parsed.get(ConfigKeys.BALANCE_FACTOR),
                (String) parsed.get(ConfigKeys.FOLLOWUP),
                (Long) parsed.get(ConfigKeys.IDLE_FOLLOWUP_MS),
                readOffload(toTexts(parsed.get(ConfigKeys.OFFLOAD))),
                findNumbers(
                        parsed,
                        Map.of(
                                "instance", ConfigKeys.INSTANCE_WEIGHT,
                                "subtopology", ConfigKeys.SUBTOPOLOGY_WEIGHT,
                                "stickiness", ConfigKeys.STICKINESS_WEIGHT)),
                findNumbers(
                        parsed,
                        Map.of(
                                LOAD_TOLERANCE, ConfigKeys.LOAD_TOLERANCE,
                                STANDBY_LOAD, ConfigKeys.STANDBY_LOAD,
                                MIN_GAIN, ConfigKeys.MIN_GAIN)),
                findWeighBy(toTexts(parsed.get(ConfigKeys.WEIGHTS))),
                readWeights(toTexts(parsed.get(ConfigKeys.WEIGHTS))));
    }

    /** Returns the values of the keys that are set, by their names in the options. */
    private static Map<String, Double> findNumbers(Map<String, Object> parsed, Map<String, String> keys) {
        Map<String, Double> found = new TreeMap<>();
        keys.forEach((name, key) -> {
            if (parsed.get(key) != null) {
                found.put(name, (Double) parsed.get(key));
            }
        });
        return found;
    }

    private static List<String> toTexts(Object list) {
        return list == null
                ? List.of()
                : ((List<?>) list).stream().map(Object::toString).toList();
    }

    /** Returns the source of weights in the list, or null if the list names none. */
    private static String findWeighBy(List<String> list) {
        return list.stream().filter(WEIGHED_BY::contains).findFirst().orElse(null);
    }

    /** Returns the weights by task or subtopology, or null if the list is invalid. */
    private static Map<String, Double> readWeights(List<String> list) {
        Map<String, Double> weights = new LinkedHashMap<>();
        if (list.stream().filter(WEIGHED_BY::contains).count() > 1) {
            return null;
        }
        for (String entry : list) {
            if (WEIGHED_BY.contains(entry)) {
                continue;
            }
            Matcher matcher = WEIGHT.matcher(entry);
            if (!matcher.matches()) {
                return null;
            }
            double weight;
            try {
                weight = Double.parseDouble(matcher.group(2));
            } catch (NumberFormatException e) {
                return null;
            }
            boolean fits = weight > 0 && weight <= InputPolicy.MOST_WEIGHT;
            if (!fits || weights.put(matcher.group(1), weight) != null) {
                return null;
            }
        }
        return weights;
    }

    /** Returns the seconds by kind of task, or null if the list is invalid. */
    private static Map<String, Long> readOffload(List<String> list) {
        if (list.equals(List.of("off"))) {
            return Map.of(STATELESS, OffloadPolicy.OFF_S, LOGGED, OffloadPolicy.OFF_S);
        }
        Map<String, Long> prices = new TreeMap<>();
        for (String entry : list) {
            Matcher matcher = PRICE.matcher(entry);
            if (!matcher.matches()
                    || Long.parseLong(matcher.group(2)) > OffloadPolicy.OFF_S
                    || prices.put(matcher.group(1), Long.parseLong(matcher.group(2))) != null) {
                return null;
            }
        }
        return prices;
    }

    static boolean isOffload(Object value) {
        return !toTexts(value).isEmpty() && readOffload(toTexts(value)) != null;
    }

    static boolean areWeights(Object value) {
        return readWeights(toTexts(value)) != null;
    }

    /** Returns whether the names have the form of goals, each once. A newer service may know other goals. */
    static boolean areGoals(Object value) {
        List<String> goals = toTexts(value);
        return goals.stream().allMatch(goal -> goal.matches("[a-z_]{1,50}"))
                && new TreeSet<>(goals).size() == goals.size();
    }
}
