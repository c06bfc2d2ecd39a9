package io.github.optassign.members;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;

/**
 * The processes of a simulated group in one JVM.
 *
 * <p>Standard input has one JSON object per line: first the {@link SimulatedApplication}, then commands. An event
 * {@code done} follows each completed command.
 *
 * <ul>
 *   <li>{@code {"command": "topics", "names": [...], "partitions": 12}} creates topics.
 *   <li>{@code {"command": "start", "process": "a", "threads": 2}} starts a process, on the disk of the last process of
 *       this name.
 *   <li>{@code {"command": "leave", "process": "a"}} makes it leave the group; {@code kill} makes it stop without a
 *       message.
 *   <li>{@code {"command": "clear", "process": "a"}} gives its next start an empty disk.
 *   <li>{@code {"command": "fill", "on": true}} gives disks the full state of tasks that they get from now on.
 *   <li>{@code {"command": "configure", "set": {...}}} sets configs of the group; null removes a config.
 *   <li>{@code {"command": "describe"}} is answered by {@code described}: state, epochs, members, own configs.
 * </ul>
 *
 * <p>At the end of the input the JVM halts. Events: {@code joined}, {@code copy} (a copy's state: restoring, running,
 * stopped, ready or gone), {@code reported} (offsets were sent), {@code fenced}, {@code died}, {@code ended}.
 */
public final class MembersMain {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The pause between two looks at the broker's configurations. */
    private static final long POLL_MS = 20;

    private final SimulatedApplication application;
    private final Admin admin;
    private final Map<String, SimulatedProcess> processes = new HashMap<>();
    private final Map<String, Map<TaskId, Long>> disks = new HashMap<>();

    private MembersMain(SimulatedApplication application) throws InterruptedException {
        this.application = application;
        admin = Admin.create(Map.of("bootstrap.servers", application.bootstrap()));
        // The first request to the coordinator creates its internal topic; before that no member can join.
        try {
            admin.describeStreamsGroups(List.of(application.group())).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof GroupIdNotFoundException)) {
                throw new IllegalStateException("no coordinator", e);
            }
        }
    }

    /** Runs until the input ends. */
    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        MembersMain main = new MembersMain(JSON.readValue(input.readLine(), SimulatedApplication.class));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode command = JSON.readTree(line);
            main.execute(command);
            EventLog.write("done", Map.of("command", command.get("command").asText()));
        }
        Runtime.getRuntime().halt(0);
    }

    private void execute(JsonNode command) throws IOException, InterruptedException, ExecutionException {
        String process = command.path("process").asText();
        String name = command.get("command").asText();
        switch (name) {
            case "topics" -> createTopics(command);
            case "start" ->
                processes.put(
                        process,
                        new SimulatedProcess(
                                application,
                                process,
                                command.get("threads").asInt(),
                                disks.computeIfAbsent(process, none -> SimulatedProcess.emptyDisk())));
            case "leave", "kill" -> processes.remove(process).end(name);
            case "clear" -> disks.remove(process);
            case "fill" -> SimulatedProcess.disksAreFull = command.get("on").asBoolean();
            case "configure" -> configure(command.get("set"));
            case "describe" -> describe();
            default ->
                throw new IllegalArgumentException(name
                        + ": found an unknown command; allowed: topics, start, leave, kill, clear, "
                        + "fill, configure, describe");
        }
    }

    private void createTopics(JsonNode command) throws InterruptedException, ExecutionException {
        List<NewTopic> topics = new ArrayList<>();
        command.get("names")
                .forEach(each -> topics.add(
                        new NewTopic(each.asText(), command.get("partitions").asInt(), (short) 1)));
        admin.createTopics(topics).all().get();
    }

    /**
     * Sets configurations of the application's group, name by name, and waits until the broker uses them; null deletes
     * one. The broker learns of a change from the controller, so a member that joins at once may find the old values.
     */
    private void configure(JsonNode set) throws InterruptedException, ExecutionException {
        List<AlterConfigOp> changes = new ArrayList<>();
        Map<String, String> wanted = new TreeMap<>(readConfigs());
        set.properties().forEach(each -> {
            String name = each.getKey();
            String value = each.getValue().isNull() ? null : each.getValue().asText();
            AlterConfigOp.OpType kind = value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
            changes.add(new AlterConfigOp(new ConfigEntry(name, value), kind));
            wanted.compute(name, (same, old) -> value);
        });
        admin.incrementalAlterConfigs(Map.of(groupResource(), changes)).all().get();
        while (!readConfigs().equals(wanted)) {
            Thread.sleep(POLL_MS);
        }
    }

    /** Returns the configurations that the broker has for the application's group alone. */
    private Map<String, String> readConfigs() throws InterruptedException, ExecutionException {
        return admin.describeConfigs(List.of(groupResource())).all().get().get(groupResource()).entries().stream()
                .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG)
                .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value));
    }

    private ConfigResource groupResource() {
        return new ConfigResource(ConfigResource.Type.GROUP, application.group());
    }

    private void describe() throws InterruptedException, ExecutionException {
        StreamsGroupDescription group = admin.describeStreamsGroups(List.of(application.group()))
                .describedGroups()
                .get(application.group())
                .get();
        Map<String, Object> members = new TreeMap<>();
        group.members()
                .forEach(member -> members.put(
                        member.memberId(), Map.of("process", member.processId(), "epoch", member.memberEpoch())));
        EventLog.write(
                "described",
                Map.of(
                        "state", group.groupState().toString(),
                        "epoch", group.groupEpoch(),
                        "target_epoch", group.targetAssignmentEpoch(),
                        "configs", new TreeMap<>(readConfigs()),
                        "members", members));
    }
}
