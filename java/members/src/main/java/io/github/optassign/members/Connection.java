package io.github.optassign.members;

import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/**
 * A connection to the coordinator of a group. It sends one heartbeat at a time and waits for its answer.
 *
 * <p>Any broker knows the coordinator of a group. After an error the next heartbeat looks it up again, as clients do.
 */
final class Connection implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;
    private final Metrics metrics = new Metrics();
    private final NetworkClient client;
    private final String group;
    private final List<Node> brokers = new ArrayList<>();
    /** The coordinator; null if unknown. */
    private Node coordinator;

    /**
     * Prepares a connection.
     *
     * @param bootstrap the addresses of brokers as host:port, separated by commas
     */
    Connection(String bootstrap, String group, String name) {
        this.group = group;
        List<String> addresses = List.of(bootstrap.split(","));
        for (String address : addresses) {
            brokers.add(toNode(-1 - brokers.size(), address));
        }
        client = ClientUtils.createNetworkClient(
                new AdminClientConfig(Map.of("bootstrap.servers", bootstrap)),
                addresses,
                name,
                metrics,
                "members",
                new LogContext(),
                new ApiVersions(),
                Time.SYSTEM,
                1,
                TIMEOUT_MS,
                null,
                new ManualMetadataUpdater(brokers),
                InetAddress::getAllByName,
                null,
                null);
    }

    private static Node toNode(int id, String address) {
        int colon = address.lastIndexOf(':');
        return new Node(id, address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
    }

    /**
     * Sends a heartbeat.
     *
     * @return the response, or an empty one with the error COORDINATOR_NOT_AVAILABLE if none arrived
     */
    StreamsGroupHeartbeatResponseData send(StreamsGroupHeartbeatRequestData heartbeat) {
        StreamsGroupHeartbeatResponseData answer =
                new StreamsGroupHeartbeatResponseData().setErrorCode(Errors.COORDINATOR_NOT_AVAILABLE.code());
        try {
            if (coordinator == null) {
                coordinator = findCoordinator();
            }
            if (coordinator != null) {
                var builder = new StreamsGroupHeartbeatRequest.Builder(heartbeat);
                answer = ((StreamsGroupHeartbeatResponse) ask(coordinator, builder)).data();
            }
        } catch (IOException e) {
            coordinator = null;
        }
        switch (Errors.forCode(answer.errorCode())) {
            case NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE -> coordinator = null;
            default -> {}
        }
        return answer;
    }

    /** Returns the coordinator, or null if no broker knows it. */
    private Node findCoordinator() {
        var wanted = new FindCoordinatorRequestData()
                .setKeyType(FindCoordinatorRequest.CoordinatorType.GROUP.id())
                .setCoordinatorKeys(List.of(group));
        for (Node broker : brokers) {
            try {
                var answer = (FindCoordinatorResponse) ask(broker, new FindCoordinatorRequest.Builder(wanted));
                for (var found : answer.data().coordinators()) {
                    if (found.errorCode() == Errors.NONE.code()) {
                        return new Node(found.nodeId(), found.host(), found.port());
                    }
                }
            } catch (IOException e) {
                // The next broker may be reachable.
            }
        }
        return null;
    }

    private AbstractResponse ask(Node node, AbstractRequest.Builder<?> builder) throws IOException {
        if (!NetworkClientUtils.awaitReady(client, node, Time.SYSTEM, TIMEOUT_MS)) {
            throw new IOException("no connection to " + node);
        }
        ClientRequest request = client.newClientRequest(node.idString(), builder, Time.SYSTEM.milliseconds(), true);
        return NetworkClientUtils.sendAndReceive(client, request, Time.SYSTEM).responseBody();
    }

    @Override
    public void close() {
        client.close();
        metrics.close();
    }
}
