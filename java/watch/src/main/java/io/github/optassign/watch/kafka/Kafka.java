package io.github.optassign.watch.kafka;

import io.github.optassign.watch.metrics.Metrics;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requests to Kafka. A failed request for one group or topic does not affect the others. */
public final class Kafka implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Kafka.class);

    private static final String GROUP = "group";

    private final Admin admin;
    private final Metrics metrics;
    private final Set<String> hiddenTopics = new HashSet<>();
    private final Set<String> missing = new HashSet<>();

    public Kafka(Admin admin, Metrics metrics) {
        this.admin = admin;
        this.metrics = metrics;
    }

    /** Returns the ids of all streams groups, sorted. */
    public List<String> listGroups() throws InterruptedException, ExecutionException {
        return admin.listGroups(ListGroupsOptions.forStreamsGroups()).all().get().stream()
                .map(GroupListing::groupId)
                .sorted()
                .toList();
    }

    /** Returns the coordinator's description of each group, without groups that cannot be described. */
    public Map<String, StreamsGroupDescription> describeGroups(Collection<String> groups) throws InterruptedException {
        return collect(GROUP, admin.describeStreamsGroups(groups).describedGroups());
    }

    /** Returns the configs of each group, including the broker's defaults, without groups that cannot be described. */
    public Map<String, Config> describeConfigs(Collection<String> groups) throws InterruptedException {
        Map<String, KafkaFuture<Config>> futures = new HashMap<>();
        admin.describeConfigs(
                        groups.stream().map(Kafka::resource).toList(),
                        new DescribeConfigsOptions().includeSynonyms(true))
                .values()
                .forEach((resource, future) -> futures.put(resource.name(), future));
        return collect("configs of group", futures);
    }

    /**
     * Returns the number of partitions of each topic, without topics that cannot be described. Each refusal is logged
     * once, and the topic is asked for again: the right to describe it may be granted later.
     */
    public Map<String, Integer> countPartitions(Collection<String> topics) throws InterruptedException {
        Map<String, Integer> counts = new HashMap<>();
        for (var topic : admin.describeTopics(topics).topicNameValues().entrySet()) {
            try {
                counts.put(topic.getKey(), topic.getValue().get().partitions().size());
                hiddenTopics.remove(topic.getKey());
            } catch (ExecutionException e) {
                // A topic that is just being created is found at the next look.
                if (e.getCause() instanceof AuthorizationException && hiddenTopics.add(topic.getKey())) {
                    LOG.warn(
                            "topic={} may not be described, so tasks without an owner are not noticed", topic.getKey());
                }
            }
        }
        return counts;
    }

    private <T> Map<String, T> collect(String kind, Map<String, KafkaFuture<T>> futures) throws InterruptedException {
        Map<String, T> found = new TreeMap<>();
        for (Map.Entry<String, KafkaFuture<T>> entry : futures.entrySet()) {
            try {
                found.put(entry.getKey(), entry.getValue().get());
                missing.remove(kind + entry.getKey());
            } catch (ExecutionException e) {
                boolean isMissing = e.getCause() instanceof GroupIdNotFoundException;
                // A configured group that does not exist yet counts as a failure only once.
                if (!isMissing || missing.add(kind + entry.getKey())) {
                    metrics.count("optassign_watch_failures_total");
                    String cause = e.getCause().toString();
                    LOG.warn("{}={} cannot be described: {}", kind, entry.getKey(), cause);
                }
            }
        }
        return found;
    }

    /** Returns whether the group did not exist at the last look. */
    public boolean isGone(String group) {
        return missing.contains(GROUP + group);
    }

    /** Changes a config of a group. */
    public void alter(String group, AlterConfigOp change) throws InterruptedException, ExecutionException {
        admin.incrementalAlterConfigs(Map.of(resource(group), List.of(change)))
                .all()
                .get();
    }

    private static ConfigResource resource(String group) {
        return new ConfigResource(ConfigResource.Type.GROUP, group);
    }

    @Override
    public void close() {
        admin.close();
    }
}
