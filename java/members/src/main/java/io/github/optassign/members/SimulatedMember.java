package io.github.optassign.members;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.KeyValue;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.TaskOffset;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.TopicInfo;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;

/**
 * A thread of an application, as seen by its group's coordinator.
 *
 * <p>It joins with its topology, takes exactly its assigned tasks, revokes others at once, and acknowledges every
 * change with an immediate heartbeat. It stops its tasks while the coordinator reports that the group is not ready. It
 * sends offsets with the first heartbeat, with acknowledgements, and after the interval that the coordinator sets. If
 * fenced, it drops its tasks and joins again; any other error ends its process.
 */
final class SimulatedMember {
    private final SimulatedApplication application;
    private final SimulatedProcess process;
    private final Connection connection;
    private final Map<TaskId, SimulatedCopy> copies = new TreeMap<>();
    private String id = Uuid.randomUuid().toString();
    private int epoch = StreamsGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH;
    private boolean isChanged;
    private boolean isGroupReady = true;
    private long nextHeartbeatMs;
    private long nextOffsetsMs;
    private long offsetIntervalMs = Long.MAX_VALUE / 4;

    SimulatedMember(SimulatedApplication application, SimulatedProcess process, Connection connection) {
        this.application = application;
        this.process = process;
        this.connection = connection;
    }

    String id() {
        return id;
    }

    String processName() {
        return process.name();
    }

    Collection<SimulatedCopy> copies() {
        return copies.values();
    }

    boolean isGroupReady() {
        return isGroupReady;
    }

    boolean isRunning(TaskId task) {
        SimulatedCopy copy = copies.get(task);
        return copy != null && copy.isRunning();
    }

    /**
     * Sends a heartbeat if one is due.
     *
     * @return false if an error ends the process
     */
    boolean heartbeat(long nowMs) {
        if (nowMs < nextHeartbeatMs) {
            return true;
        }
        boolean isJoining = epoch == StreamsGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH;
        StreamsGroupHeartbeatRequestData data = newRequest(epoch);
        if (isJoining) {
            addSelf(data);
        } else if (isChanged) {
            addTasks(data, copies.values());
        }
        if (application.reportsOffsets() && (isJoining || isChanged || nowMs >= nextOffsetsMs)) {
            addOffsets(data);
            nextOffsetsMs = nowMs + offsetIntervalMs;
        }
        isChanged = false;
        return handle(connection.send(data), nowMs);
    }

    /** Leaves the group. */
    void leave() {
        drop();
        connection.send(newRequest(StreamsGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH));
    }

    /** Drops all copies without a message. */
    void drop() {
        copies.values().forEach(copy -> copy.enter("gone"));
        copies.clear();
    }

    private StreamsGroupHeartbeatRequestData newRequest(int memberEpoch) {
        return new StreamsGroupHeartbeatRequestData()
                .setGroupId(application.group())
                .setMemberId(id)
                .setMemberEpoch(memberEpoch)
                .setEndpointInformationEpoch(-1);
    }

    private void addSelf(StreamsGroupHeartbeatRequestData data) {
        var topology = new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0);
        topology.setSubtopologies(application.subtopologies().stream()
                .map(each -> new StreamsGroupHeartbeatRequestData.Subtopology()
                        .setSubtopologyId(each.id())
                        .setSourceTopics(each.topics())
                        .setStateChangelogTopics(
                                each.logged()
                                        ? List.of(new TopicInfo()
                                                .setName(application.group() + "-" + each.id() + "-changelog"))
                                        : List.of()))
                .toList());
        data.setTopology(topology)
                .setRebalanceTimeoutMs(300_000)
                .setProcessId(process.id())
                .setClientTags(application.tags().entrySet().stream()
                        .map(tag -> new KeyValue().setKey(tag.getKey()).setValue(tag.getValue()))
                        .toList());
        addTasks(data, List.of());
    }

    private static void addTasks(StreamsGroupHeartbeatRequestData data, Collection<SimulatedCopy> owned) {
        data.setActiveTasks(listTasks(owned, SimulatedCopy.Role.ACTIVE))
                .setStandbyTasks(listTasks(owned, SimulatedCopy.Role.STANDBY))
                .setWarmupTasks(listTasks(owned, SimulatedCopy.Role.WARMUP));
    }

    private static List<StreamsGroupHeartbeatRequestData.TaskIds> listTasks(
            Collection<SimulatedCopy> owned, SimulatedCopy.Role role) {
        return owned.stream()
                .filter(copy -> copy.role() == role)
                .collect(Collectors.groupingBy(
                        copy -> copy.task().subtopologyId(),
                        TreeMap::new,
                        Collectors.mapping(copy -> copy.task().partitionId(), Collectors.toList())))
                .entrySet()
                .stream()
                .map(each -> new StreamsGroupHeartbeatRequestData.TaskIds()
                        .setSubtopologyId(each.getKey())
                        .setPartitions(each.getValue()))
                .toList();
    }

    /**
     * Adds offsets as a thread of Kafka Streams 4.4.0 reports them: none for actives that it runs, and 0 for actives of
     * other threads of its process. For standbys and restoring actives, it reports offset and end offset.
     */
    private void addOffsets(StreamsGroupHeartbeatRequestData data) {
        List<TaskOffset> offsets = new ArrayList<>();
        List<TaskOffset> endOffsets = new ArrayList<>();
        long now = System.nanoTime();
        process.offsets().forEach((task, offset) -> {
            SimulatedCopy own = copies.get(task);
            if (own == null) {
                offsets.add(toOffset(task, process.isRunning(task) ? 0 : offset));
            } else if (!own.isRunning()) {
                offsets.add(toOffset(task, offset));
                endOffsets.add(toOffset(task, application.endOffsetAt(now, task)));
            }
        });
        data.setTaskOffsets(offsets).setTaskEndOffsets(endOffsets);
        Map<String, Long> lags = new TreeMap<>();
        endOffsets.forEach(end -> lags.put(
                end.subtopologyId() + "_" + end.partition(),
                end.offset() - process.offsets().get(new TaskId(end.subtopologyId(), end.partition()))));
        EventLog.write("reported", Map.of("process", process.name(), "member", id, "lags", lags));
    }

    private static TaskOffset toOffset(TaskId task, long offset) {
        return new TaskOffset()
                .setSubtopologyId(task.subtopologyId())
                .setPartition(task.partitionId())
                .setOffset(offset);
    }

    /** Handles a response: a fenced member joins again under a new id. Returns false if an error ends the process. */
    private boolean handle(StreamsGroupHeartbeatResponseData data, long nowMs) {
        switch (Errors.forCode(data.errorCode())) {
            case NONE -> accept(data, nowMs);
            case COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR -> {
                isChanged = true;
                nextHeartbeatMs = nowMs + 100;
            }
            case UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH -> {
                EventLog.write("fenced", Map.of("process", process.name(), "member", id));
                drop();
                id = Uuid.randomUuid().toString();
                epoch = StreamsGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH;
                nextHeartbeatMs = nowMs;
            }
            default -> {
                EventLog.write(
                        "died",
                        Map.of(
                                "process",
                                process.name(),
                                "error",
                                Errors.forCode(data.errorCode()).name(),
                                "message",
                                String.valueOf(data.errorMessage())));
                return false;
            }
        }
        return true;
    }

    private void accept(StreamsGroupHeartbeatResponseData data, long nowMs) {
        if (epoch == StreamsGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH) {
            EventLog.write("joined", Map.of("process", process.name(), "member", id));
        }
        epoch = data.memberEpoch();
        nextHeartbeatMs = nowMs + data.heartbeatIntervalMs();
        offsetIntervalMs = data.taskOffsetIntervalMs();
        nextOffsetsMs = Math.min(nextOffsetsMs, nowMs + offsetIntervalMs);
        if (data.status() != null) {
            isGroupReady = data.status().stream()
                    .map(status -> StreamsGroupHeartbeatResponse.Status.fromCode(status.statusCode()))
                    .noneMatch(SimulatedMember::stopsTasks);
        }
        if (data.activeTasks() != null) {
            replaceCopies(data);
            if (isChanged) {
                nextHeartbeatMs = nowMs;
            }
        }
    }

    private static boolean stopsTasks(StreamsGroupHeartbeatResponse.Status status) {
        return switch (status) {
            case MISSING_SOURCE_TOPICS, MISSING_INTERNAL_TOPICS, INCORRECTLY_PARTITIONED_TOPICS, ASSIGNMENT_DELAYED ->
                true;
            default -> false;
        };
    }

    private void replaceCopies(StreamsGroupHeartbeatResponseData data) {
        Map<TaskId, SimulatedCopy.Role> assigned = new TreeMap<>();
        Map.of(
                        SimulatedCopy.Role.ACTIVE, data.activeTasks(),
                        SimulatedCopy.Role.STANDBY, data.standbyTasks(),
                        SimulatedCopy.Role.WARMUP, data.warmupTasks())
                .forEach((role, tasks) -> tasks.forEach(each ->
                        each.partitions().forEach(p -> assigned.put(new TaskId(each.subtopologyId(), p), role))));
        List<SimulatedCopy> revoked = copies.values().stream()
                .filter(copy -> assigned.get(copy.task()) != copy.role())
                .toList();
        revoked.forEach(copy -> {
            copy.enter("gone");
            copies.remove(copy.task());
        });
        isChanged |= !revoked.isEmpty();
        assigned.forEach((task, role) -> {
            if (!copies.containsKey(task)) {
                copies.put(task, new SimulatedCopy(task, role, this));
                process.open(task);
                isChanged = true;
            }
        });
    }
}
