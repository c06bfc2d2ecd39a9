package io.github.optassign.broker;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.SnapshotBuilder;
import io.github.optassign.model.Traits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * A group as the coordinator hands it over: its members, the processes that these are threads of, its tasks, and the
 * {@link Snapshot} that plans are made from.
 */
final class BrokerGroup {
    /** Client tags of an instance's own, as in the client's plug-in. */
    private static final String CAPACITY = "optassign.capacity";

    private static final String DRAINING = "optassign.draining";
    /** By its value log lines name the group, whose id an assignor is not told. */
    private static final String NAME = "optassign";

    private final TaskTable tasks;
    private final List<Member> members = new ArrayList<>();
    private final TreeMap<String, List<Member>> processes = new TreeMap<>();
    private final Lags lags;
    private final int standbys;
    private final List<String> tagKeys;
    private boolean warmedUpByBroker;

    BrokerGroup(GroupSpec group, TopologyDescriber topology) {
        tasks = new TaskTable(topology);
        for (String id : group.memberIds().stream().sorted().toList()) {
            var metadata = group.memberMetadata(id);
            var state = group.memberAssignmentState(id);
            Member member = Member.read(id, metadata.processId(), metadata.clientTags(), state, tasks);
            members.add(member);
            processes
                    .computeIfAbsent(member.process(), none -> new ArrayList<>())
                    .add(member);
            warmedUpByBroker |= state.warmupTasks().values().stream().anyMatch(partitions -> !partitions.isEmpty());
        }
        lags = new Lags(tasks, members);
        standbys = Math.max(0, group.configs().numStandbyReplicas());
        tagKeys = group.configs().rackAwareAssignmentTags();
    }

    TaskTable tasks() {
        return tasks;
    }

    /** All members, in the order of their ids. */
    List<Member> members() {
        return members;
    }

    /** Process id to its members, both in order. */
    Map<String, List<Member>> processes() {
        return processes;
    }

    boolean hasOffsets() {
        return lags.isAnyKnown();
    }

    /** Whether any task is active anywhere, so that the group was there before. */
    boolean hasOwners() {
        return members.stream().anyMatch(member -> member.active().length > 0);
    }

    /** Whether the broker warms up by itself: some member has a warm-up, and we never make any. */
    boolean isWarmedUpByBroker() {
        return warmedUpByBroker;
    }

    /** What log lines call the group: what its members say, else the least of its process ids. */
    String name() {
        return members.stream()
                .map(member -> member.tags().get(NAME))
                .filter(name -> name != null && !name.isBlank())
                .findFirst()
                .map(name -> name.replaceAll("[^\\w.-]", "?"))
                .orElseGet(() -> "of-process-" + processes.firstKey());
    }

    /** The group as planners see it, each process a client. */
    Snapshot toSnapshot(BrokerConfig config) {
        GroupConfigs configs = new GroupConfigs(config.acceptableLag(), config.maxWarmups(), standbys, 600_000, false);
        SnapshotBuilder builder = new SnapshotBuilder(configs, tagKeys);
        String[] names = new String[tasks.size()];
        for (int t = 0; t < names.length; t++) {
            boolean logged = tasks.isLogged(t);
            names[t] = builder.addTask(tasks.subtopology(t), tasks.partition(t), logged, logged, lags.endOffset(t));
        }
        processes.forEach((process, threads) -> {
            SnapshotBuilder.Client client = builder.addClient(process, threads.size());
            addState(client, process, threads, names, config.acceptableLag());
            addTraits(client, threads.get(0).tags());
        });
        return builder.build();
    }

    private void addState(
            SnapshotBuilder.Client client, String process, List<Member> threads, String[] names, long acceptable) {
        Map<Integer, Long> known = lags.of(process);
        known.forEach((t, lag) -> client.holds(names[t]).lags(names[t], lag));
        for (Member member : threads) {
            for (int t : member.standby()) {
                client.holds(names[t]).lags(names[t], known.getOrDefault(t, Lags.UNKNOWN));
            }
        }
        for (Member member : threads) {
            for (int t : member.active()) {
                long lag = known.getOrDefault(t, Lags.UNKNOWN);
                // Who has said nothing is taken to run: it would be wrong to move what may be well.
                if (lag <= acceptable) {
                    client.runs(names[t]);
                } else {
                    client.owns(names[t]).lags(names[t], lag);
                }
            }
        }
    }

    private void addTraits(SnapshotBuilder.Client client, Map<String, String> tags) {
        tagKeys.stream().filter(tags::containsKey).forEach(key -> client.tag(key, tags.get(key)));
        if ("true".equalsIgnoreCase(tags.get(DRAINING))) {
            client.drains();
        }
        double capacity = parse(tags.getOrDefault(CAPACITY, "1"));
        if (capacity >= 1e-6 && capacity <= 1e6) {
            client.capacity(Math.round(capacity * Traits.UNITS));
        }
    }

    private static double parse(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            return Double.NaN;
        }
    }
}
