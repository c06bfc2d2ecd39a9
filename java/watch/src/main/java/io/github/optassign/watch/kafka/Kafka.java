package io.github.optassign.watch.kafka;

import io.github.optassign.watch.metrics.Metrics;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is asked of Kafka. What one group or topic refuses takes nothing from the others. */
public final class Kafka implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Kafka.class);

    private final Admin admin;
    private final Metrics metrics;
    private final TreeSet<String> hiddenTopics = new TreeSet<>();

    public Kafka(Admin admin, Metrics metrics) {
        this.admin = admin;
        this.metrics = metrics;
    }

    /** The ids of all streams groups. */
    public List<String> listGroups() throws InterruptedException, ExecutionException {
        return admin.listGroups(ListGroupsOptions.forStreamsGroups()).all().get().stream()
                .map(GroupListing::groupId)
                .sorted()
                .toList();
    }

    /** Group to what the coordinator says of it. */
    public Map<String, StreamsGroupDescription> describeGroups(Collection<String> groups) throws InterruptedException {
        return collect("group", admin.describeStreamsGroups(groups).describedGroups());
    }

    /** Group to its configs, those of the broker that hold for it included. */
    public Map<String, Config> describeConfigs(Collection<String> groups) throws InterruptedException {
        Map<String, KafkaFuture<Config>> futures = new HashMap<>();
        admin.describeConfigs(
                        groups.stream().map(Kafka::resource).toList(),
                        new DescribeConfigsOptions().includeSynonyms(true))
                .values()
                .forEach((resource, future) -> futures.put(resource.name(), future));
        return collect("configs of group", futures);
    }

    /** Topic to its number of partitions; those that we may not see are missing. */
    public Map<String, Integer> countPartitions(Collection<String> topics) throws InterruptedException {
        List<String> asked = new ArrayList<>(topics);
        asked.removeAll(hiddenTopics);
        Map<String, Integer> counts = new HashMap<>();
        for (var topic : admin.describeTopics(asked).topicNameValues().entrySet()) {
            try {
                counts.put(topic.getKey(), topic.getValue().get().partitions().size());
            } catch (ExecutionException e) {
                hiddenTopics.add(topic.getKey());
                LOG.warn(
                        "topic={} cannot be described, so tasks that nobody has are not noticed: {}",
                        topic.getKey(),
                        e.getCause().toString());
            }
        }
        return counts;
    }

    private <T> Map<String, T> collect(String what, Map<String, KafkaFuture<T>> futures) throws InterruptedException {
        Map<String, T> found = new TreeMap<>();
        for (Map.Entry<String, KafkaFuture<T>> each : futures.entrySet()) {
            try {
                found.put(each.getKey(), each.getValue().get());
            } catch (ExecutionException e) {
                metrics.count("optassign_watch_failures_total");
                LOG.warn(
                        "{}={} cannot be described: {}",
                        what,
                        each.getKey(),
                        e.getCause().toString());
            }
        }
        return found;
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
