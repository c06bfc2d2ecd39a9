package io.github.optassign.config;

import io.github.optassign.learn.InputRates;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.model.Weights;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.InputPolicy;
import io.github.optassign.policy.OffloadPolicy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigException;

/**
 * The snapshot's options for the service in addition to Kafka's own configuration: weights of tasks, and the options of
 * docs/schema/options.md.
 *
 * @param preset null: not set
 * @param goals empty: not set
 * @param balanceFactor how wide the shares of clients' counts are, 1 or more; null: not set
 * @param followup when a follow-up is due: {@code estimate} or {@code interval}; null: not set
 * @param idleFollowupMs when a group at rest rebalances, ms; 0: never; null: not set
 * @param offload seconds that an extra move has to save, by kind of task as the options name it; empty: not set
 * @param optionWeights weights of preset weighted, by their name in the options; empty: none is set
 * @param loadOptions what is balanced load, and what it is worth, by the name in the options; empty: none is set
 * @param weighBy the source of weights for tasks that {@code taskWeights} does not name: {@code changelog} or
 *     {@code rates}; null: not set
 * @param taskWeights relative load by subtopology, as {@code 0} or {@code name__0}, or by task; empty: all weigh 1
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
    /** Nothing is set. */
    public static final ServiceOptions NONE =
            new ServiceOptions(null, List.of(), null, null, null, Map.of(), Map.of(), Map.of(), null, Map.of());

    static final String ESTIMATE = "estimate";
    static final String INTERVAL = "interval";
    static final String IDLE_FOLLOWUP_ALLOWED = "0, or 1000 or more";
    static final String OFFLOAD_ALLOWED =
            "off, or a list such as stateless:60,logged:300, each once, seconds from 0 to 1e9";
    private static final String RATES = "rates";
    private static final String LOAD_TOLERANCE = "load_tolerance";
    private static final String STANDBY_LOAD = "standby_load";
    private static final String MIN_GAIN = "min_gain";
    private static final String STATELESS = "stateless";
    private static final String LOGGED = "logged";
    private static final Set<String> WEIGHED_BY = Set.of("changelog", RATES);
    private static final Pattern PRICE = Pattern.compile("(stateless|logged):(\\d{1,10})");
    private static final Pattern WEIGHT = Pattern.compile("((?:.+__)?\\d+(?:_\\d+)?):(.+)");

    /** The options that work without a service. */
    ServiceOptions withoutService() {
        Map<String, Double> ofLoad = new TreeMap<>(loadOptions);
        ofLoad.remove(STANDBY_LOAD);
        return new ServiceOptions(
                null, List.of(), null, followup, null, offload, Map.of(), ofLoad, weighBy, taskWeights);
    }

    /**
     * The weights of tasks for the planner in this JVM.
     *
     * @param rates how fast the input of tasks grows
     * @return null: nothing is asked for by which tasks would weigh differently
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
                Weights.relate(known, fixed),
                loadOptions.getOrDefault(LOAD_TOLERANCE, InputPolicy.LOAD_TOLERANCE),
                loadOptions.getOrDefault(MIN_GAIN, InputPolicy.LEAST_LOAD_GAIN));
    }

    /** Whether goals or a preset that only the service knows say what load is worth. */
    private boolean isLoadLeftToService() {
        return preset != null || !goals.isEmpty() || loadOptions.getOrDefault(STANDBY_LOAD, 0.0) > 0;
    }

    /** Whether there is any option to be sent; task weights are none, unless others are to be found. */
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

    /** Whether each follow-up is to wait for {@code probing.rebalance.interval.ms}, whatever the estimate says. */
    public boolean isFollowupByInterval() {
        return INTERVAL.equals(followup);
    }

    /** When the service is asked again after a fallback that left the group at rest, ms; 0: never. */
    public long comeBackMs() {
        return idleFollowupMs == null ? FollowupPolicy.IDLE_FOLLOWUP_MS : idleFollowupMs;
    }

    /** The seconds that a move for offload has to save. */
    public Timing.Prices offloadPrices() {
        Timing.Prices usual = Timing.Prices.DEFAULT;
        return new Timing.Prices(
                offload.getOrDefault(STATELESS, usual.stateless()), offload.getOrDefault(LOGGED, usual.logged()));
    }

    /** Whether it is to be measured how fast the input of each task grows. */
    public boolean isWeighedByRates() {
        return RATES.equals(weighBy);
    }

    /** Whether tasks are to be balanced by what they weigh. */
    public boolean isAnyTaskWeighed() {
        return weighBy != null || !taskWeights.isEmpty();
    }

    /** Whether by these options plans may be out of the shares that the plug-in knows. */
    public boolean isBalanceLoose() {
        return "weighted".equals(preset) || (balanceFactor != null && balanceFactor > 1) || isAnyTaskWeighed();
    }

    /** The weight of a task; null: not set. */
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

    /** Finds the values of these keys that are set, by the name in the options. */
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

    /** Finds the source of weights in the list; null: it names none. */
    private static String findWeighBy(List<String> list) {
        return list.stream().filter(WEIGHED_BY::contains).findFirst().orElse(null);
    }

    /** Returns the weights; null if the list is bad. */
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

    /** Returns the prices; null if the list is bad. */
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

    static void checkOffload(String name, Object value) {
        if (value != null && (toTexts(value).isEmpty() || readOffload(toTexts(value)) == null)) {
            throw new ConfigException(name, value, "allowed: " + OFFLOAD_ALLOWED);
        }
    }

    static void checkWeights(String name, Object value) {
        if (readWeights(toTexts(value)) == null) {
            throw new ConfigException(
                    name,
                    value,
                    "allowed: a list such as 0:2.5,1_3:4, each once, above 0 and at most 1e9; in it, rates or changelog");
        }
    }

    static void checkPreset(String name, Object value) {
        if (value != null && !Set.of("lexicographic", "weighted").contains(value)) {
            throw new ConfigException(name, value, "allowed: lexicographic, weighted");
        }
    }

    static void checkFollowup(String name, Object value) {
        if (value != null && !Set.of(ESTIMATE, INTERVAL).contains(value)) {
            throw new ConfigException(name, value, "allowed: estimate, interval");
        }
    }

    static void checkIdleFollowup(String name, Object value) {
        if (value != null && (Long) value != 0 && (Long) value < FollowupPolicy.REBALANCE_MS) {
            throw new ConfigException(name, value, "allowed: " + IDLE_FOLLOWUP_ALLOWED);
        }
    }

    /** Which goals there are the service says: it may be newer. */
    static void checkGoals(String name, Object value) {
        List<String> goals = toTexts(value);
        boolean fits = goals.stream().allMatch(goal -> goal.matches("[a-z_]{1,50}"));
        if (!fits || new TreeSet<>(goals).size() != goals.size()) {
            throw new ConfigException(name, value, "allowed: names of goals, each once");
        }
    }

    static void checkFactor(String name, Object value) {
        if (value != null && (Integer) value < 1) {
            throw new ConfigException(name, value, "allowed: 1 or more");
        }
    }

    static void checkShare(String name, Object value, int most) {
        if (value != null && !((Double) value >= 0 && (Double) value <= most)) {
            throw new ConfigException(name, value, "allowed: from 0 to " + most);
        }
    }

    static void checkWeight(String name, Object value) {
        if (value != null && !((Double) value >= 0 && Double.isFinite((Double) value))) {
            throw new ConfigException(name, value, "allowed: 0 or more");
        }
    }
}
