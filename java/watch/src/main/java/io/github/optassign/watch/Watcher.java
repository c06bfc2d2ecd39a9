package io.github.optassign.watch;

import io.github.optassign.policy.WatchPolicy;
import io.github.optassign.watch.deciding.Decision.Action;
import io.github.optassign.watch.deciding.GroupView;
import io.github.optassign.watch.kafka.GroupReader;
import io.github.optassign.watch.kafka.Kafka;
import io.github.optassign.watch.kafka.RackTags;
import io.github.optassign.watch.metrics.Metrics;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads groups every few seconds, and triggers an assignment if that would have an effect. Groups on their way are read
 * more often than groups at rest.
 */
final class Watcher {
    private static final Logger LOG = LoggerFactory.getLogger(Watcher.class);
    private static final String OURS = "optassign";
    private static final String ASSIGNOR = "streams.assignor.name";
    private static final String STANDBYS = "streams.num.standby.replicas";

    private final Settings settings;
    private final Kafka kafka;
    private final Metrics metrics;
    private final Map<String, WatchedGroup> groups = new TreeMap<>();
    private final Set<String> notOurs = new HashSet<>();
    private final Map<String, Integer> partitions = new TreeMap<>();
    private volatile boolean isStopped;

    Watcher(Settings settings, Kafka kafka, Metrics metrics) {
        this.settings = settings;
        this.kafka = kafka;
        this.metrics = metrics;
    }

    /** Ends {@link #run} soon. */
    void stop() {
        isStopped = true;
    }

    /** Looks until stopped, then puts back what it has changed. */
    void run() throws InterruptedException {
        long allAtMs = nowMs();
        while (!isStopped) {
            long startMs = nowMs();
            if (startMs >= allAtMs) {
                try {
                    look(true);
                } catch (ExecutionException e) {
                    metrics.count("optassign_watch_failures_total");
                    LOG.warn("groups cannot be listed: {}", e.getCause().toString());
                }
                allAtMs = nowMs() + settings.intervalMs();
            } else {
                look(listBusy(), true);
                metrics.count("optassign_watch_quick_looks_total");
            }
            long endMs = nowMs();
            long quickMs = Math.max(settings.quickIntervalMs(), WatchPolicy.TIMES_REST * (endMs - startMs));
            sleepUntil(listBusy().isEmpty() ? allAtMs : Math.min(allAtMs, endMs + quickMs));
        }
        restore();
    }

    private List<String> listBusy() {
        return groups.entrySet().stream()
                .filter(group -> group.getValue().isBusy())
                .map(Map.Entry::getKey)
                .toList();
    }

    private void sleepUntil(long thenMs) throws InterruptedException {
        for (long left = thenMs - nowMs(); left > 0 && !isStopped; left = thenMs - nowMs()) {
            TimeUnit.MILLISECONDS.sleep(Math.min(WatchPolicy.STOP_MS, left));
        }
    }

    /**
     * Looks and acts once, waits until that is over, and puts back what it has changed. Returns whether nothing failed.
     */
    boolean runOnce() throws InterruptedException, ExecutionException {
        boolean hasActed = look(true).contains(Action.TRIGGER);
        long end = nowMs() + WatchPolicy.ONCE_MS;
        while (hasActed
                && !settings.isDryRun()
                && nowMs() < end
                && !isStopped
                && groups.values().stream().anyMatch(WatchedGroup::isUnderWay)) {
            TimeUnit.MILLISECONDS.sleep(WatchPolicy.ONCE_LOOK_MS);
            look(false);
        }
        restore();
        return metrics.total("optassign_watch_failures_total") == 0;
    }

    /** Reads all groups, new ones included. */
    private Set<Action> look(boolean mayAct) throws InterruptedException, ExecutionException {
        Collection<String> names = settings.groups().isEmpty() ? kafka.listGroups() : settings.groups();
        groups.keySet().stream().filter(name -> !names.contains(name)).forEach(metrics::forget);
        groups.keySet().retainAll(names);
        partitions.clear();
        Set<Action> done = look(names, mayAct);
        metrics.count("optassign_watch_looks_total");
        metrics.set("optassign_watch_groups", groups.size());
        metrics.set("optassign_watch_last_look_timestamp_seconds", System.currentTimeMillis() / 1000);
        return done;
    }

    private Set<Action> look(Collection<String> names, boolean mayAct) throws InterruptedException {
        Map<String, Config> configs = kafka.describeConfigs(names);
        Map<String, Config> others = new TreeMap<>(configs);
        configs.entrySet().removeIf(each -> !isOurs(each.getKey(), each.getValue()));
        others.keySet().removeAll(configs.keySet());
        if (mayAct) {
            restore(others);
        }
        Map<String, StreamsGroupDescription> found = kafka.describeGroups(configs.keySet());
        Set<String> topics = new TreeSet<>();
        found.values().forEach(group -> topics.addAll(GroupReader.listTopics(group)));
        topics.removeAll(partitions.keySet());
        partitions.putAll(kafka.countPartitions(topics));
        names.stream().filter(name -> !found.containsKey(name)).forEach(name -> {
            metrics.forget(name);
            groups.remove(name);
        });
        Set<Action> done = new HashSet<>();
        for (Map.Entry<String, StreamsGroupDescription> group : found.entrySet()) {
            String name = group.getKey();
            RackTags tags = RackTags.read(configs.get(name).get(RackTags.CONFIG));
            int standbys = Integer.parseInt(configs.get(name).get(STANDBYS).value());
            GroupView view = GroupReader.read(group.getValue(), partitions, standbys, tags.isConfigChanged());
            WatchedGroup watched = groups.computeIfAbsent(name, this::newGroup);
            if (mayAct) {
                done.add(watched.look(view, tags, nowMs()));
            } else {
                watched.see(view);
            }
        }
        return done;
    }

    private WatchedGroup newGroup(String name) {
        LOG.info("group={} is watched{}", name, settings.isDryRun() ? ", and its config is not changed" : "");
        return new WatchedGroup(name, kafka, metrics, settings.limits(), settings.isDryRun());
    }

    private boolean isOurs(String group, Config config) {
        ConfigEntry entry = config.get(ASSIGNOR);
        boolean isOurs = entry != null && OURS.equals(entry.value());
        if (isOurs) {
            notOurs.remove(group);
        } else if (notOurs.add(group)) {
            LOG.info(
                    "group={} is not watched: its {} is {}, not {}",
                    group,
                    ASSIGNOR,
                    entry == null ? "unknown" : entry.value(),
                    OURS);
        }
        return isOurs;
    }

    private void restore() throws InterruptedException {
        List<String> changed = groups.entrySet().stream()
                .filter(group -> group.getValue().mayHaveChangedConfig())
                .map(Map.Entry::getKey)
                .toList();
        restore(kafka.describeConfigs(changed));
    }

    /** Takes the mark away where it is, now. */
    private void restore(Map<String, Config> configs) throws InterruptedException {
        for (Map.Entry<String, Config> group : configs.entrySet()) {
            RackTags tags = RackTags.read(group.getValue().get(RackTags.CONFIG));
            if (tags.isConfigChanged() && !settings.isDryRun()) {
                try {
                    kafka.alter(group.getKey(), tags.toggle());
                    metrics.count("optassign_watch_restorations_total", "group", group.getKey());
                    LOG.info("group={} restored: {} is without the mark", group.getKey(), RackTags.CONFIG);
                } catch (ExecutionException e) {
                    metrics.count("optassign_watch_failures_total");
                    LOG.warn(
                            "group={} keeps the mark {} in {}, which means nothing: {}",
                            group.getKey(),
                            RackTags.MARK,
                            RackTags.CONFIG,
                            e.getCause().toString());
                }
            }
        }
    }

    private static long nowMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }
}
