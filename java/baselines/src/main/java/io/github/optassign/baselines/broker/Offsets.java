package io.github.optassign.baselines.broker;

import io.github.optassign.baselines.BaselineApplication;
import io.github.optassign.baselines.SnapshotJson;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.processor.TaskId;

/**
 * The offsets of a client's state, as its members report them. A member reports the offsets of its tasks; the first
 * member also reports the offsets of state without a task. Offsets follow from the snapshot's lags; unknown lags are
 * not reported.
 */
record Offsets(Map<TaskId, Long> reached, Map<TaskId, Long> ends) {
    private static final long RUNNING = -2;
    private static final long UNKNOWN = -3;

    static Offsets read(BaselineApplication application, SnapshotJson.Client client) {
        Map<TaskId, Long> reached = new HashMap<>();
        Map<TaskId, Long> ends = new HashMap<>();
        client.lags()
                .keySet()
                .forEach(listed -> application.selectExisting(List.of(listed)).stream()
                        .filter(application.logged()::contains)
                        .forEach(task -> {
                            long lag = client.lags().get(listed);
                            long end = application.changelog(task);
                            if (lag != UNKNOWN) {
                                reached.put(task, lag == RUNNING ? end : Math.max(0, end - lag));
                                ends.put(task, end);
                            }
                        }));
        return new Offsets(reached, ends);
    }

    /** Returns the offsets that a member of the client reports. */
    Map<TaskId, Long> reportedBy(BaselineMember member, List<BaselineMember> all) {
        Map<TaskId, Long> reported = new HashMap<>(reached);
        boolean isFirst = member == all.get(0);
        for (BaselineMember other : all) {
            if (other != member) {
                other.active().forEach(reported::remove);
                other.standby().forEach(reported::remove);
            }
        }
        if (!isFirst) {
            reported.keySet()
                    .removeIf(task ->
                            !member.active().contains(task) && !member.standby().contains(task));
        }
        return reported;
    }
}
