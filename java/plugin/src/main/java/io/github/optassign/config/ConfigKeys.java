package io.github.optassign.config;

import io.github.optassign.endpoint.ServiceUrl;
import io.github.optassign.endpoint.TokenSource;
import io.github.optassign.policy.FollowupPolicy;
import io.github.optassign.policy.ServicePolicy;
import io.github.optassign.policy.WaitPolicy;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;

/** The plug-in's configuration keys, with types, defaults and allowed values. */
final class ConfigKeys {
    /** The default time-out of the plug-in. A group of 10,000 tasks is answered within it. */
    private static final int PLUGIN_TIMEOUT_MS = 2_000;

    static final String URL = ServiceUrl.KEY;
    static final String TIMEOUT_MS = "optassign.timeout.ms";
    static final String TOKEN = TokenSource.TOKEN;
    static final String TOKEN_FILE = TokenSource.TOKEN_FILE;
    static final String APPLICATION = "optassign.application";
    static final String MODE = "optassign.mode";
    static final String SHADOW_ASSIGNOR = "optassign.shadow.assignor";

    static final String WEIGHTS = "optassign.weights";
    static final String FOLLOWUP = "optassign.followup";
    static final String IDLE_FOLLOWUP_MS = "optassign.idle.followup.ms";
    static final String OFFLOAD = "optassign.offload";
    static final String PRESET = "optassign.options.preset";
    static final String GOALS = "optassign.options.goals";
    static final String BALANCE_FACTOR = "optassign.options.balance.factor";
    static final String LOAD_TOLERANCE = "optassign.options.load.tolerance";
    static final String STANDBY_LOAD = "optassign.options.standby.load";
    static final String MIN_GAIN = "optassign.options.min.gain";
    static final String INSTANCE_WEIGHT = "optassign.options.weights.instance";
    static final String SUBTOPOLOGY_WEIGHT = "optassign.options.weights.subtopology";
    static final String STICKINESS_WEIGHT = "optassign.options.weights.stickiness";

    private static final ConfigDef.Validator WEIGHT =
            allow("0 or more", value -> (Double) value >= 0 && Double.isFinite((Double) value));

    static final ConfigDef DEFINITION = new ConfigDef()
            .define(
                    URL,
                    Type.STRING,
                    null,
                    ConfigDef.LambdaValidator.with(
                            ServiceUrl::check, () -> "http://host:port or https://host:port, path allowed"),
                    Importance.HIGH,
                    "The address of the optassign service, without /v1/assign; default: none, and the planner in this JVM "
                            + "answers.")
            .define(
                    TIMEOUT_MS,
                    Type.INT,
                    PLUGIN_TIMEOUT_MS,
                    ConfigDef.Range.between(ServicePolicy.SHORTEST_TIMEOUT_MS, ServicePolicy.LONGEST_TIMEOUT_MS),
                    Importance.MEDIUM,
                    "Milliseconds from the start of an assignment until the fallback answers instead of the service. "
                            + "The leader's thread waits that long, and every other member waits for the leader in one "
                            + "request, so at most a quarter of max.poll.interval.ms, half of request.timeout.ms and "
                            + "two thirds of session.timeout.ms are allowed.")
            .define(TOKEN, Type.PASSWORD, null, Importance.MEDIUM, "The service's token, if it has one. Never logged.")
            .define(
                    TOKEN_FILE,
                    Type.STRING,
                    null,
                    Importance.MEDIUM,
                    "A file of at most 64 KiB that holds the token, instead of " + TOKEN
                            + ". It is read in every rebalance, so the token may change.")
            .define(
                    APPLICATION,
                    Type.STRING,
                    null,
                    allow("not empty", value -> !((String) value).isBlank()),
                    Importance.LOW,
                    "The application's name towards the service; default: application.id.")
            .define(
                    MODE,
                    Type.STRING,
                    "active",
                    ConfigDef.ValidString.in("active", "shadow"),
                    Importance.MEDIUM,
                    "active: the service's answers are applied. shadow: the group is run by " + SHADOW_ASSIGNOR
                            + "; the service gets a report afterwards, compares and records.")
            .define(
                    SHADOW_ASSIGNOR,
                    Type.STRING,
                    ShadowChoice.DEFAULT,
                    ConfigDef.LambdaValidator.with(ShadowChoice::check, () -> ShadowChoice.ALLOWED),
                    Importance.LOW,
                    "The assignor of the group in shadow mode: " + ShadowChoice.ALLOWED + ".")
            .define(
                    WEIGHTS,
                    Type.LIST,
                    "",
                    allow(
                            "a list such as 0:2.5,1_3:4, each once, above 0 and at most 1e9; in it, rates or changelog",
                            ServiceOptions::areWeights),
                    Importance.LOW,
                    "Relative load of tasks, by subtopology or task id; of other tasks 1, the growth of their input (rates) "
                            + "or the size of their changelog (changelog). Load is balanced if weights differ.")
            .define(
                    FOLLOWUP,
                    Type.STRING,
                    null,
                    allow("estimate, interval", Set.of("estimate", ServiceOptions.INTERVAL)::contains),
                    Importance.LOW,
                    "The time of follow-ups, the fallback's too: after the estimated restore time, or after "
                            + "probing.rebalance.interval.ms; default: the service's, which is estimate.")
            .define(
                    IDLE_FOLLOWUP_MS,
                    Type.LONG,
                    null,
                    allow(
                            "0, or 1000 or more",
                            value -> (Long) value == 0 || (Long) value >= FollowupPolicy.REBALANCE_MS),
                    Importance.LOW,
                    "Milliseconds after which a group at rest rebalances, so that its operator's requests take effect and a "
                            + "failed service is asked again; below 60000 ever more rarely; 0: never; default: the "
                            + "service's --idle-followup, and " + WaitPolicy.IDLE_FOLLOWUP_MS
                            + " after an answer of the fallback.")
            .define(
                    OFFLOAD,
                    Type.LIST,
                    null,
                    allow(
                            "off, or a list such as stateless:60,logged:300, each once, seconds from 0 to 1e9",
                            ServiceOptions::isOffload),
                    Importance.LOW,
                    "Seconds of one excess active task that an extra move has to save, the fallback's too, by kind of task; "
                            + "off: no offload; default: the service's, which is stateless:60,logged:300.")
            .define(
                    PRESET,
                    Type.STRING,
                    null,
                    allow("lexicographic, weighted", Set.of("lexicographic", "weighted")::contains),
                    Importance.LOW,
                    "The service's option preset; default: the service's.")
            .define(
                    GOALS,
                    Type.LIST,
                    null,
                    allow("names of goals, each once", ServiceOptions::areGoals),
                    Importance.LOW,
                    "The service's option goals, the first comes first; default: the preset's own.")
            .define(
                    BALANCE_FACTOR,
                    Type.INT,
                    null,
                    allow("1 or more", value -> (Integer) value >= 1),
                    Importance.LOW,
                    "The service's option balance_factor; default: 1.")
            .define(
                    LOAD_TOLERANCE,
                    Type.DOUBLE,
                    null,
                    allowUpTo(10),
                    Importance.LOW,
                    "The option load_tolerance, if weights differ; default: 0.05.")
            .define(
                    STANDBY_LOAD,
                    Type.DOUBLE,
                    null,
                    allowUpTo(1),
                    Importance.LOW,
                    "The service's option standby_load, if weights differ; default: 0.")
            .define(
                    MIN_GAIN,
                    Type.DOUBLE,
                    null,
                    allowUpTo(10),
                    Importance.LOW,
                    "The option min_gain, if weights differ; default: 0.05.")
            .define(
                    INSTANCE_WEIGHT,
                    Type.DOUBLE,
                    null,
                    WEIGHT,
                    Importance.LOW,
                    "The service's option weights.instance, of preset weighted.")
            .define(
                    SUBTOPOLOGY_WEIGHT,
                    Type.DOUBLE,
                    null,
                    WEIGHT,
                    Importance.LOW,
                    "The service's option weights.subtopology, of preset weighted.")
            .define(
                    STICKINESS_WEIGHT,
                    Type.DOUBLE,
                    null,
                    WEIGHT,
                    Importance.LOW,
                    "The service's option weights.stickiness, of preset weighted.");

    /** The keys that only a service uses. Without a service, {@link PluginConfig#of} refuses them. */
    static final Set<String> SERVICE_ONLY = Set.of(
            TOKEN,
            TOKEN_FILE,
            PRESET,
            GOALS,
            BALANCE_FACTOR,
            STANDBY_LOAD,
            IDLE_FOLLOWUP_MS,
            INSTANCE_WEIGHT,
            SUBTOPOLOGY_WEIGHT,
            STICKINESS_WEIGHT);

    private ConfigKeys() {}

    /** Creates a validator that accepts null and values that fit; its error names the allowed values. */
    private static ConfigDef.Validator allow(String allowed, Predicate<Object> fits) {
        return ConfigDef.LambdaValidator.with(
                (name, value) -> {
                    if (value != null && !fits.test(value)) {
                        throw new ConfigException(name, value, "allowed: " + allowed);
                    }
                },
                () -> allowed);
    }

    private static ConfigDef.Validator allowUpTo(int most) {
        return allow("from 0 to " + most, value -> (Double) value >= 0 && (Double) value <= most);
    }
}
