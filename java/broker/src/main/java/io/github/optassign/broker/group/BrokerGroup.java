package io.github.optassign.broker.group;

import io.github.optassign.model.GroupConfigs;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.TaskLags;
import io.github.optassign.model.Traits;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;

/**
 * A group as the coordinator passes it: its members, their processes, its tasks, and the {@link Snapshot} for the
 * planner.
 */
public final class BrokerGroup {
    /** The client tag with the group's name, since an assignor does not know the group's id. */
    private static final String NAME = "optassign";

    private final TaskTable tasks;
    private final List<Member> members = new ArrayList<>();
    private final TreeMap<String, List<Member>> processes = new TreeMap<>();
    private final Lags lags;
    private final int standbys;
    private final List<String> tagKeys;
    private boolean warmedUpByBroker;

    public BrokerGroup(GroupSpec group, TopologyDescriber topology) {
        tasks = new TaskTable(topology);
        for (String id : group.memberIds().stream().sorted().toList()) {
            var metadata = group.memberMetadata(id);
            var state = group.memberAssignmentState(id);
            Member member = Member.read(id, metadata, state, tasks);
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

    /** Copies a group without all members of the processes {@code without}; tasks and lags are shared. */
    private BrokerGroup(BrokerGroup whole, Set<String> without) {
        tasks = whole.tasks;
        lags = whole.lags;
        standbys = whole.standbys;
        tagKeys = whole.tagKeys;
        warmedUpByBroker = whole.warmedUpByBroker;
        whole.members.stream()
                .filter(member -> !without.contains(member.process()))
                .forEach(members::add);
        processes.putAll(whole.processes);
        processes.keySet().removeAll(without);
    }

    /** Returns the group without the given processes; at least one must remain. */
    public BrokerGroup without(Set<String> gone) {
        return gone.isEmpty() ? this : new BrokerGroup(this, gone);
    }

    public TaskTable tasks() {
        return tasks;
    }

    /** Returns all members, in the order of their ids. */
    public List<Member> members() {
        return members;
    }

    /** Returns the members of each process, in the order of ids. */
    public Map<String, List<Member>> processes() {
        return processes;
    }

    /** Returns whether any member has sent offsets. */
    public boolean hasOffsets() {
        return lags.isAnyKnown();
    }

    /** Returns whether any task is active, which shows that the group has been assigned before. */
    public boolean hasOwners() {
        return members.stream().anyMatch(member -> member.active().length > 0);
    }

    /** Returns whether any member has a warm-up task, which only the broker itself assigns. */
    public boolean isWarmedUpByBroker() {
        return warmedUpByBroker;
    }

    /**
     * Returns the group's name in log lines, metrics and requests to the service: the first name in the members' tags,
     * with unusual characters replaced. A group without tags keeps a generated name while it is remembered.
     *
     * @param before the group's previous name, or null if it has none
     */
    public String findName(String before) {
        return members.stream()
                .map(member -> member.tags().get(NAME))
                .filter(name -> name != null && !name.isBlank())
                .findFirst()
                .map(name -> name.replaceAll("[^\\w.-]", "?"))
                .orElseGet(() -> before != null ? before : generateName());
    }

    /** Returns a name by topology and least process, which a coordinator of the same processes generates, too. */
    private String generateName() {
        return String.format("unnamed-%08x", Objects.hash(tasks.toString(), processes.firstKey()));
    }

    /** Returns the tags in which copies should differ, the most important first. */
    public List<String> tagNames() {
        return tagKeys.stream().distinct().toList();
    }

    /** Returns the data for the service in addition to the snapshot. */
    public BrokerDetails toDetails(Snapshot snapshot) {
        List<Map<String, String>> tags = processes.values().stream()
                .map(threads -> threads.get(0).tags())
                .toList();
        return new BrokerDetails(snapshot, tagNames(), tags);
    }

    /**
     * Returns the snapshot for planners, with each process as a client. Tasks keep their indices.
     *
     * @param acceptableLag the lag up to which a copy counts as caught up, offsets
     * @param maxWarmups the maximum number of warm-ups at a time
     * @param presumedCaughtUp the processes whose standbys count as caught up if they report no lag; on other
     *     processes, such lags are unknown
     * @param restoring the active tasks that restore in place
     */
    public Snapshot toSnapshot(
            long acceptableLag, int maxWarmups, Set<String> presumedCaughtUp, RestoringActives restoring) {
        int count = tasks.size();
        String[] names = new String[count];
        int[] subtopologies = new int[count];
        boolean[] logged = new boolean[count];
        long[] ends = new long[count];
        long[] whole = new long[count];
        // Planners number subtopologies by their tasks, so those without partitions are skipped.
        for (int t = 0; t < count; t++) {
            names[t] = tasks.describe(t);
            boolean isNext = t > 0 && tasks.subtopologyNumber(t) != tasks.subtopologyNumber(t - 1);
            subtopologies[t] = t == 0 ? 0 : subtopologies[t - 1] + (isNext ? 1 : 0);
            logged[t] = tasks.isLogged(t);
            ends[t] = logged[t] ? lags.endOffset(t) : -1;
        }
        // A process that reports no lag has the whole changelog to replay. Members do not report the lengths of their
        // own actives' changelogs. If such a task were cheaper than one whose warm-up restores, the plan would change.
        // An empty disk must not pass for caught up, so the guess is at least above the acceptable lag.
        long longest = Arrays.stream(ends).max().orElse(-1);
        long guess = longest < 0 || acceptableLag == Long.MAX_VALUE ? longest : Math.max(longest, acceptableLag + 1);
        for (int t = 0; t < count; t++) {
            ends[t] = ends[t] < 0 && logged[t] ? guess : ends[t];
            whole[t] = ends[t] < 0 ? Snapshot.NONE : ends[t];
        }
        GroupConfigs configs = new GroupConfigs(acceptableLag, maxWarmups, standbys, 600_000, false, true);
        return new Snapshot(
                configs,
                new Snapshot.Tasks(names, subtopologies, logged.clone(), logged),
                toClients(whole, acceptableLag, presumedCaughtUp, restoring),
                toTraits(),
                ends);
    }

    /** Returns per task the end offset of its changelog as members have told it, or -1 if unknown. */
    public double[] knownEnds() {
        return IntStream.range(0, tasks.size())
                .mapToDouble(t -> tasks.isLogged(t) ? lags.endOffset(t) : -1)
                .toArray();
    }

    /**
     * Finds active tasks that restore in place.
     *
     * @param last the members' reports at the last call; empty if unknown
     * @param acceptableLag the lag up to which a copy counts as caught up, offsets
     */
    public RestoringActives findRestoring(Map<String, RestoringActives.Report> last, long acceptableLag) {
        return new RestoringActives(tasks, members, lags, last, acceptableLag);
    }

    private Snapshot.Clients toClients(
            long[] whole, long acceptable, Set<String> presumedCaughtUp, RestoringActives restoring) {
        int count = processes.size();
        int[] threads = new int[count];
        BitSet[] active = new BitSet[count];
        BitSet[] held = new BitSet[count];
        TaskLags offsets = new TaskLags(whole, count);
        int c = 0;
        for (Map.Entry<String, List<Member>> process : processes.entrySet()) {
            threads[c] = process.getValue().size();
            active[c] = new BitSet(tasks.size());
            held[c] = new BitSet(tasks.size());
            Map<Integer, Long> known = lags.of(process.getKey());
            long withoutReport = presumedCaughtUp.contains(process.getKey()) ? 0 : Lags.UNKNOWN;
            for (Map.Entry<Integer, Long> lag : known.entrySet()) {
                held[c].set(lag.getKey());
                setLag(offsets, lag.getKey(), c, lag.getValue());
            }
            for (Member member : process.getValue()) {
                for (int t : member.standby()) {
                    held[c].set(t);
                    setLag(offsets, t, c, known.getOrDefault(t, withoutReport));
                }
            }
            for (Member member : process.getValue()) {
                for (int t : member.active()) {
                    active[c].set(t);
                    long lag = restoring.of(process.getKey()).getOrDefault(t, known.getOrDefault(t, Lags.UNKNOWN));
                    // A task without a reported lag counts as running, since it must not move without a reason.
                    if (tasks.isLogged(t)) {
                        offsets.set(t, c, lag <= acceptable ? Snapshot.RUNNING : lag);
                    }
                }
            }
            held[c].andNot(active[c]);
            c++;
        }
        return new Snapshot.Clients(processes.keySet().toArray(new String[0]), threads, active, held, offsets);
    }

    private void setLag(TaskLags offsets, int t, int c, long lag) {
        if (tasks.isLogged(t)) {
            offsets.set(t, c, lag < 0 ? Snapshot.UNKNOWN : lag);
        }
    }

    private Traits toTraits() {
        List<String> keys = tagNames();
        List<Map<String, Integer>> values = new ArrayList<>();
        keys.forEach(key -> values.add(new HashMap<>()));
        long[] sizes = new long[processes.size()];
        boolean[] draining = new boolean[sizes.length];
        int[][] numbers = new int[sizes.length][keys.size()];
        int c = 0;
        for (List<Member> threads : processes.values()) {
            Map<String, String> tags = threads.get(0).tags();
            long capacity = Traits.readCapacity(tags);
            sizes[c] = threads.size() * (capacity < 0 ? Traits.UNITS : capacity);
            draining[c] = Traits.drains(tags);
            for (int k = 0; k < keys.size(); k++) {
                String value = tags.get(keys.get(k));
                Map<String, Integer> known = values.get(k);
                numbers[c][k] = value == null ? -1 : known.computeIfAbsent(value, text -> known.size());
            }
            c++;
        }
        return new Traits(sizes, draining, numbers);
    }
}
