package io.github.optassign.members;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData.TaskId;

/**
 * A process: its members and its disk, driven by one thread of this JVM.
 *
 * <p>All threads restore at the same rate, first actives, then standbys. The disk outlives the process, under its name.
 */
final class SimulatedProcess {
    private static final long TICK_MS = 10;

    /** Whether disks get the full state of new tasks, so that groups can start with state. */
    static volatile boolean disksAreFull;

    private final SimulatedApplication application;
    private final String name;
    private final Map<TaskId, Long> offsets;
    private final List<SimulatedMember> members = new ArrayList<>();
    private final Thread thread;
    private volatile String end;

    /**
     * Starts a process.
     *
     * @param disk the offsets of the state on its disk; updated
     */
    SimulatedProcess(SimulatedApplication application, String name, int threads, Map<TaskId, Long> disk) {
        this.application = application;
        this.name = name;
        offsets = disk;
        thread = new Thread(() -> run(threads), name);
        thread.setDaemon(true);
        thread.start();
    }

    String name() {
        return name;
    }

    /** Returns Kafka's id of the process, which is the same after a restart. */
    String id() {
        return UUID.nameUUIDFromBytes((application.group() + "/" + name).getBytes(StandardCharsets.UTF_8))
                .toString();
    }

    Map<TaskId, Long> offsets() {
        return offsets;
    }

    boolean isRunning(TaskId task) {
        return members.stream().anyMatch(member -> member.isRunning(task));
    }

    /** Adds a task to the disk if it has a changelog. */
    void open(TaskId task) {
        if (application.isLogged(task)) {
            offsets.putIfAbsent(task, disksAreFull ? application.endOffsetAt(System.nanoTime(), task) : 0);
        }
    }

    /**
     * Ends the process, and waits until it has ended.
     *
     * @param how {@code leave} or {@code kill}
     */
    void end(String how) throws InterruptedException {
        end = how;
        thread.join();
    }

    private void run(int threads) {
        try (Connection connection = new Connection(application.bootstrap(), application.group(), name)) {
            for (int i = 0; i < threads; i++) {
                members.add(new SimulatedMember(application, this, connection));
            }
            long before = System.nanoTime();
            while (end == null) {
                for (SimulatedMember member : members) {
                    if (!member.heartbeat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime()))) {
                        end = "died";
                    }
                }
                long now = System.nanoTime();
                restore((now - before) / 1e9);
                before = now;
                TimeUnit.MILLISECONDS.sleep(TICK_MS);
            }
            for (SimulatedMember member : members) {
                if (end.equals("leave")) {
                    member.leave();
                } else {
                    member.drop();
                }
            }
        } catch (InterruptedException | RuntimeException e) {
            EventLog.write("died", Map.of("process", name, "error", e.toString(), "message", ""));
            members.forEach(SimulatedMember::drop);
        }
        EventLog.write("ended", Map.of("process", name));
    }

    private void restore(double seconds) {
        long now = System.nanoTime();
        for (SimulatedMember member : members) {
            List<SimulatedCopy> actives = new ArrayList<>();
            List<SimulatedCopy> standbys = new ArrayList<>();
            for (SimulatedCopy copy : member.copies()) {
                if (!application.isLogged(copy.task()) || copy.isRunning()) {
                    updateState(member, copy, now);
                } else {
                    (copy.role() == SimulatedCopy.Role.ACTIVE ? actives : standbys).add(copy);
                }
            }
            List<SimulatedCopy> first = actives.isEmpty() ? standbys : actives;
            first.removeIf(copy -> offsets.get(copy.task()) >= application.endOffsetAt(now, copy.task()));
            double each = application.restorePerSecond() * seconds / Math.max(1, first.size());
            first.forEach(copy -> offsets.merge(
                    copy.task(),
                    Math.round(each),
                    (offset, more) -> Math.min(application.endOffsetAt(now, copy.task()), offset + more)));
            member.copies().forEach(copy -> updateState(member, copy, now));
        }
    }

    /**
     * Updates the state of a copy. A caught-up active runs at the end of its changelog, or is stopped and keeps its
     * offset. A standby or warm-up within the acceptable lag is ready; other copies restore.
     */
    private void updateState(SimulatedMember member, SimulatedCopy copy, long now) {
        long endOffset = application.endOffsetAt(now, copy.task());
        long lag = application.isLogged(copy.task()) ? endOffset - offsets.get(copy.task()) : 0;
        boolean runs = copy.role() == SimulatedCopy.Role.ACTIVE && (copy.isRunning() || lag <= 0);
        if (runs && !member.isGroupReady()) {
            copy.enter("stopped");
        } else if (runs) {
            copy.enter("running");
            offsets.computeIfPresent(copy.task(), (task, offset) -> endOffset);
        } else if (copy.role() != SimulatedCopy.Role.ACTIVE && lag <= application.acceptableLag()) {
            copy.enter("ready");
        } else {
            copy.enter("restoring");
        }
    }

    /** Returns the content of a new disk. */
    static Map<TaskId, Long> emptyDisk() {
        return new TreeMap<>();
    }
}
