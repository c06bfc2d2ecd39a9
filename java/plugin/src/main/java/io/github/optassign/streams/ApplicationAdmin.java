package io.github.optassign.streams;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.streams.StreamsConfig.InternalConfig;
import org.apache.kafka.streams.processor.internals.assignment.ReferenceContainer;

/**
 * The application's admin client. It is Kafka Streams' own client, which is already connected. If another version of
 * Kafka Streams keeps that client elsewhere, each question gets a new client with the same properties.
 */
public final class ApplicationAdmin {
    private final Map<String, ?> configs;

    /** A question to the broker. */
    public interface Question<T> {
        /** Asks the broker through an open client, and returns its answer. May block. */
        T ask(Admin admin) throws Exception;
    }

    /**
     * Creates an admin client that connects on use.
     *
     * @param configs the configs with which Kafka Streams configures an assignor
     */
    public ApplicationAdmin(Map<String, ?> configs) {
        this.configs = configs;
    }

    /** Returns the broker's answer to a question. Blocks until the broker has answered. */
    public <T> T use(Question<T> question) throws Exception {
        Admin own = findOwn();
        if (own != null) {
            return question.ask(own);
        }
        Admin created = Admin.create(selectProperties());
        try {
            return question.ask(created);
        } finally {
            created.close(Duration.ZERO);
        }
    }

    /** Returns Kafka Streams' own client, or null if another version keeps that internal field elsewhere. */
    private Admin findOwn() {
        try {
            Object references = configs.get(InternalConfig.REFERENCE_CONTAINER_PARTITION_ASSIGNOR);
            return references instanceof ReferenceContainer container ? container.adminClient : null;
        } catch (LinkageError e) {
            return null;
        }
    }

    private Map<String, Object> selectProperties() {
        Map<String, Object> properties = new HashMap<>(configs);
        properties.keySet().retainAll(AdminClientConfig.configNames());
        properties.remove(AdminClientConfig.CLIENT_ID_CONFIG); // the consumer's id, which names the consumer's metrics
        return properties;
    }
}
