package io.github.optassign.members;

import java.io.IOException;
import java.net.InetAddress;
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
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/** A connection to the coordinator that sends one heartbeat at a time and waits for its answer. */
final class Connection implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;
    private final Metrics metrics = new Metrics();
    private final NetworkClient client;
    private final Node coordinator;

    Connection(String bootstrap, String name) {
        int colon = bootstrap.lastIndexOf(':');
        coordinator = new Node(1, bootstrap.substring(0, colon), Integer.parseInt(bootstrap.substring(colon + 1)));
        client = ClientUtils.createNetworkClient(
                new AdminClientConfig(Map.of("bootstrap.servers", bootstrap)),
                List.of(bootstrap),
                name,
                metrics,
                "members",
                new LogContext(),
                new ApiVersions(),
                Time.SYSTEM,
                1,
                TIMEOUT_MS,
                null,
                new ManualMetadataUpdater(List.of(coordinator)),
                InetAddress::getAllByName,
                null,
                null);
    }

    StreamsGroupHeartbeatResponseData send(StreamsGroupHeartbeatRequestData heartbeat) throws IOException {
        if (!NetworkClientUtils.awaitReady(client, coordinator, Time.SYSTEM, TIMEOUT_MS)) {
            throw new IOException("no connection to " + coordinator);
        }
        ClientRequest request = client.newClientRequest(
                coordinator.idString(),
                new StreamsGroupHeartbeatRequest.Builder(heartbeat),
                Time.SYSTEM.milliseconds(),
                true);
        var response = NetworkClientUtils.sendAndReceive(client, request, Time.SYSTEM);
        return ((StreamsGroupHeartbeatResponse) response.responseBody()).data();
    }

    @Override
    public void close() {
        client.close();
        metrics.close();
    }
}
