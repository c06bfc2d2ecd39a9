package io.github.optassign.watch;

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
 * A watcher of streams groups. It looks at them every few seconds, and triggers an assignment if that would have an
 * effect. Groups in motion are looked at more often than groups at rest.
 */
final class Watcher {
    /** The longest delay of a requested stop. An operator notices no tenth of a second. */
    private static final long STOP_MS = 100;
    /** The time between two looks of {@code --once} at the rebalance that it triggered. A rebalance takes seconds. */
    private static final long ONCE_LOOK_MS = 500;
    /**
     * The longest wait of {@code --once} for the end of the rebalance that it triggered. A large group takes seconds.
     */
    private static final long ONCE_MS = 60_000;
    /**
     * The rest after a look, as a multiple of the look's own time. Kafka serves the watcher for a fifth of the time at
     * most.
     */
    private static final int TIMES_REST = 4;

    private static final Logger LOG = LoggerFactory.getLogger(Watcher.class);
    private static final String ASSIGNOR_NAME = "optassign";
    private static final String ASSIGNOR_CONFIG = "streams.assignor.name";
    private static final String STANDBYS_CONFIG = "streams.num.standby.replicas";

    private final Settings settings;
    private final Kafka kafka;
    private final Metrics metrics;
    private final Map<String, WatchedGroup> groups = new TreeMap<>();
    private final Set<String> otherGroups = new HashSet<>();
    private final Map<String, Integer> partitions = new TreeMap<>();
    private volatile boolean isStopped;

    Watcher(Settings settings, Kafka kafka, Metrics metrics) {
        this.settings = settings;
        this.kafka = kafka;
        this.metrics = metrics;
    }

    /** Asks {@link #run} to end. */
    void stop() {
        isStopped = true;
    }

    /** Looks at groups until stopped, then restores changed configs. */
    void run() throws InterruptedException {
        noteLook(); // so that the alert on an old look also tells of a watcher that has never looked
        long nextFullLookMs = nowMs();
        while (!isStopped) {
            long startMs = nowMs();
            if (startMs >= nextFullLookMs) {
                try {
                    look(true);
                } catch (ExecutionException e) {
                    metrics.count("optassign_watch_failures_total");
                    LOG.warn("groups cannot be listed: {}", e.getCause().toString());
                }
                nextFullLookMs = nowMs() + settings.intervalMs();
            } else {
                look(listBusy(), true);
                metrics.count("optassign_watch_quick_looks_total");
            }
            long endMs = nowMs();
            long quickMs = Math.max(settings.quickIntervalMs(), TIMES_REST * (endMs - startMs));
            sleepUntil(listBusy().isEmpty() ? nextFullLookMs : Math.min(nextFullLookMs, endMs + quickMs));
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
            TimeUnit.MILLISECONDS.sleep(Math.min(STOP_MS, left));
        }
    }

    /**
     * Looks and acts once, waits for the triggered assignments, and restores changed configs.
     *
     * @return whether all requests to Kafka succeeded
     */
    boolean runOnce() throws InterruptedException, ExecutionException {
        boolean hasActed = look(true).contains(Action.TRIGGER);
        long end = nowMs() + ONCE_MS;
        while (hasActed
                && !settings.isDryRun()
                && nowMs() < end
                && !isStopped
                && groups.values().stream().anyMatch(WatchedGroup::isUnderWay)) {
            TimeUnit.MILLISECONDS.sleep(ONCE_LOOK_MS);
            look(false);
        }
        restore();
        return metrics.total("optassign_watch_failures_total") == 0;
    }

    /**
     * Looks at all groups, including new ones.
     *
     * @return the actions that were carried out
     */
    private Set<Action> look(boolean mayAct) throws InterruptedException, ExecutionException {
        Collection<String> names = settings.groups().isEmpty() ? kafka.listGroups() : settings.groups();
        groups.keySet().stream().filter(name -> !names.contains(name)).forEach(metrics::forget);
        groups.keySet().retainAll(names);
        partitions.clear();
        double failures = metrics.total("optassign_watch_failures_total");
        Set<Action> done = look(names, mayAct);
        metrics.count("optassign_watch_looks_total");
        metrics.set("optassign_watch_groups", groups.size());
        if (metrics.total("optassign_watch_failures_total") == failures) {
            // An alert on an old time also tells of groups that cannot be read.
            noteLook();
        }
        return done;
    }

    private void noteLook() {
        metrics.set("optassign_watch_last_look_timestamp_seconds", System.currentTimeMillis() / 1000);
    }

    private Set<Action> look(Collection<String> names, boolean mayAct) throws InterruptedException {
        Map<String, Config> configs = kafka.describeConfigs(names);
        Map<String, Config> others = new TreeMap<>(configs);
        configs.entrySet().removeIf(group -> !hasOwnAssignor(group.getKey(), group.getValue()));
        others.keySet().removeAll(configs.keySet());
        if (mayAct) {
            restore(others);
        }
        Map<String, StreamsGroupDescription> found = kafka.describeGroups(configs.keySet());
        Set<String> topics = new TreeSet<>();
        found.values().forEach(group -> topics.addAll(GroupReader.listTopics(group)));
        topics.removeAll(partitions.keySet());
        partitions.putAll(kafka.countPartitions(topics));
        // A group whose description failed keeps its memory of tries and triggers.
        names.stream()
                .filter(name -> others.containsKey(name) || kafka.isGone(name))
                .forEach(name -> {
                    metrics.forget(name);
                    groups.remove(name);
                });
        Set<Action> done = new HashSet<>();
        for (Map.Entry<String, StreamsGroupDescription> group : found.entrySet()) {
            try {
                done.add(look(group.getKey(), group.getValue(), configs.get(group.getKey()), mayAct));
            } catch (RuntimeException e) {
                noteUnreadable(group.getKey(), e);
            }
        }
        return done;
    }

    private Action look(String name, StreamsGroupDescription group, Config config, boolean mayAct)
            throws InterruptedException {
        RackTags tags = RackTags.read(config.get(RackTags.CONFIG));
        int standbys = Integer.parseInt(config.get(STANDBYS_CONFIG).value());
        GroupView view = GroupReader.read(group, partitions, standbys, tags.isConfigChanged());
        WatchedGroup watched = groups.computeIfAbsent(name, this::newGroup);
        if (mayAct) {
            return watched.look(view, tags, nowMs());
        }
        watched.observe(view);
        return Action.NOTHING;
    }

    /** Notes a group that this watcher cannot read, such as one of a newer Kafka; the others are watched on. */
    private void noteUnreadable(String group, RuntimeException cause) {
        metrics.count("optassign_watch_failures_total");
        LOG.warn("group={} cannot be read", group, cause);
    }

    private WatchedGroup newGroup(String name) {
        LOG.info("group={} is watched{}", name, settings.isDryRun() ? ", and its config is not changed" : "");
        return new WatchedGroup(name, kafka, metrics, settings.limits(), settings.isDryRun());
    }

    private boolean hasOwnAssignor(String group, Config config) {
        ConfigEntry entry = config.get(ASSIGNOR_CONFIG);
        boolean hasOwnAssignor = entry != null && ASSIGNOR_NAME.equals(entry.value());
        if (hasOwnAssignor) {
            otherGroups.remove(group);
        } else if (otherGroups.add(group)) {
            LOG.info(
                    "group={} is not watched: its {} is {}, not {}",
                    group,
                    ASSIGNOR_CONFIG,
                    entry == null ? "unknown" : entry.value(),
                    ASSIGNOR_NAME);
        }
        return hasOwnAssignor;
    }

    private void restore() throws InterruptedException {
        List<String> changed = groups.entrySet().stream()
                .filter(group -> group.getValue().mayHaveChangedConfig())
                .map(Map.Entry::getKey)
                .toList();
        restore(kafka.describeConfigs(changed));
    }

    /** Removes the mark from the configs that have it. */
    private void restore(Map<String, Config> configs) throws InterruptedException {
        for (Map.Entry<String, Config> group : configs.entrySet()) {
            ConfigEntry entry = group.getValue().get(RackTags.CONFIG);
            if (entry == null) {
                continue; // an older broker, which cannot have the mark
            }
            RackTags tags = RackTags.read(entry);
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
