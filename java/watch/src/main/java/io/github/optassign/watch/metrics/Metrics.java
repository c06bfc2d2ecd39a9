package io.github.optassign.watch.metrics;

import static java.util.Map.entry;

import java.util.Map;
import java.util.TreeMap;

/** Counters and gauges in the text format of Prometheus. Thread-safe. */
public final class Metrics {
    private static final Map<String, String> DESCRIPTIONS = Map.ofEntries(
            entry("optassign_watch_triggers_total", "counter Assignments triggered, by reason."),
            entry("optassign_watch_restorations_total", "counter Configs of groups restored."),
            entry("optassign_watch_held_back_total", "counter Looks at which a trigger had to wait, by reason."),
            entry("optassign_watch_looks_total", "counter Looks at all groups."),
            entry("optassign_watch_quick_looks_total", "counter Looks at groups in motion only."),
            entry("optassign_watch_failures_total", "counter Requests to Kafka that failed."),
            entry("optassign_watch_config_changed", "gauge 1 while a group's config has the mark of a trigger."),
            entry("optassign_watch_warming_up", "gauge Tasks that warm up."),
            entry("optassign_watch_done", "gauge 1 if an assignment would have no effect."),
            entry("optassign_watch_groups", "gauge Groups that are watched."),
            entry("optassign_watch_last_look_timestamp_seconds", "gauge Time of the last look at all groups."));

    private final Map<String, Map<String, Double>> series = new TreeMap<>();

    /** Adds 1 to a counter. */
    public synchronized void count(String name, String... labels) {
        series.computeIfAbsent(name, none -> new TreeMap<>()).merge(join(labels), 1.0, Double::sum);
    }

    /** Returns the sum of a counter over all labels. */
    public synchronized double total(String name) {
        return series.getOrDefault(name, Map.of()).values().stream()
                .mapToDouble(value -> value)
                .sum();
    }

    /** Sets a gauge. */
    public synchronized void set(String name, double value, String... labels) {
        series.computeIfAbsent(name, none -> new TreeMap<>()).put(join(labels), value);
    }

    /** Removes the gauges, but not the counters, of a group that is no longer watched. */
    public synchronized void forget(String group) {
        for (String name :
                new String[] {"optassign_watch_config_changed", "optassign_watch_warming_up", "optassign_watch_done"}) {
            series.getOrDefault(name, new TreeMap<>()).remove(join("group", group));
        }
    }

    private static String join(String... labels) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < labels.length; i += 2) {
            String value =
                    labels[i + 1].replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
            text.append(i == 0 ? "{" : ",")
                    .append(labels[i])
                    .append("=\"")
                    .append(value)
                    .append('"');
        }
        return text.isEmpty() ? "" : text.append('}').toString();
    }

    /** Returns all metrics as text. */
    synchronized String render() {
        StringBuilder text = new StringBuilder();
        series.forEach((name, values) -> {
            String[] about = DESCRIPTIONS.get(name).split(" ", 2);
            text.append("# HELP ").append(name).append(' ').append(about[1]).append('\n');
            text.append("# TYPE ").append(name).append(' ').append(about[0]).append('\n');
            values.forEach((labels, value) -> text.append(name)
                    .append(labels)
                    .append(' ')
                    .append(value == Math.rint(value) ? String.valueOf(value.longValue()) : String.valueOf(value))
                    .append('\n'));
        });
        return text.toString();
    }
}
