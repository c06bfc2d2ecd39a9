package io.github.optassign.testing;

import io.github.optassign.OptassignTaskAssignor;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupAssignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.AssignmentError;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/** A service for tests of the plug-in. */
public final class FakeService extends HttpService {
    /** A valid answer for {@link StreamsTestGroup#ofThreeTasks} that differs from the fallback's: it swaps tasks. */
    public static final String VALID = """
        {"format": 1, "assignor": "cp-sat", "clients": [
         {"process_id": "00000000-0000-0000-0000-000000000001", "active": ["0_1", "1_0"], "standby": [], "warmup": ["0_0"],
          "followup_rebalance_ms": 90000},
         {"process_id": "00000000-0000-0000-0000-000000000002", "active": ["0_0"], "standby": [], "warmup": [],
          "followup_rebalance_ms": null}], "plan": null, "x_new": [1, {"a": 2}],
         "report": {"goals": [{"stage": "plan"}], "warmup_progress": []}}""";

    public FakeService() throws IOException {}

    /** Creates a service on a given port. */
    public FakeService(int port) throws IOException {
        super(port);
    }

    /** Returns the configs of an assignor that asks this service, with a time-out for a busy machine. */
    public Map<String, Object> configs() {
        return new HashMap<>(Map.of(
                "application.id", "orders",
                "optassign.url", url(),
                "optassign.timeout.ms", 60_000,
                "request.timeout.ms", 120_000,
                "session.timeout.ms", 120_000));
    }

    /** Runs a rebalance of an application that asks this service, with a new assignor, as Kafka does. */
    public TaskAssignment rebalance(StreamsTestGroup group, Map<String, ?> more, AssignmentError outcome) {
        Map<String, Object> configs = configs();
        configs.putAll(more);
        OptassignTaskAssignor assignor = new OptassignTaskAssignor();
        assignor.configure(configs);
        TaskAssignment assignment = assignor.assign(group.state());
        assignor.onAssignmentComputed(new GroupAssignment(Map.of()), new GroupSubscription(Map.of()), outcome);
        return assignment;
    }
}
