package io.github.optassign.streams;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.streams.StreamsConfig.InternalConfig;
import org.apache.kafka.streams.processor.internals.assignment.ReferenceContainer;

/**
 * The application's admin client, with its addresses and credentials. It is the one that Kafka Streams itself asks the
 * broker by, since that is connected already; where another version of Kafka Streams keeps it elsewhere, one is made
 * for the moment from the same properties.
 */
public final class ApplicationAdmin {
    private final Map<String, ?> configs;

    /** A question to the broker. */
    public interface Question<T> {
        /** Asks by a client that is open, and may block. */
        T ask(Admin admin) throws Exception;
    }

    /**
     * Makes one.
     *
     * @param configs what Kafka Streams configures an assignor with
     */
    public ApplicationAdmin(Map<String, ?> configs) {
        this.configs = configs;
    }

    /** Asks the broker; blocks as long as that takes. */
    public <T> T use(Question<T> question) throws Exception {
        Admin own = findOwn();
        if (own != null) {
            return question.ask(own);
        }
        Admin made = Admin.create(selectProperties());
        try {
            return question.ask(made);
        } finally {
            made.close(Duration.ZERO);
        }
    }

    /** The one of Kafka Streams, which is internal there; null: it is not where it was. */
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
        properties.remove(AdminClientConfig.CLIENT_ID_CONFIG); // the consumer's, whose metrics go by it
        return properties;
    }
}
