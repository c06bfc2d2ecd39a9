package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.progress.InstanceName;
import io.github.optassign.progress.ProgressListener;
import io.github.optassign.progress.ProgressSender;
import io.github.optassign.progress.RestoringCopies;
import io.github.optassign.service.ServiceFailure;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the service how far this instance's copies are while they are restored, so that its page shows warm-ups live.
 * An application calls it once, before it starts:
 *
 * <pre>
 * KafkaStreams streams = new KafkaStreams(topology, properties);
 * OptassignProgress.attach(streams, properties);
 * streams.start();
 * </pre>
 *
 * <p>Without it the page shows what the last rebalance found. Kafka Streams takes one listener of each kind, so an
 * application hands its own ones in here.
 */
public final class OptassignProgress {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignProgress.class);

    private OptassignProgress() {}

    /**
     * Sets the listeners of an application that has none of its own.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @throws IllegalStateException if the application has been started
     */
    public static void attach(KafkaStreams streams, Map<?, ?> configs) {
        attach(streams, configs, null, null);
    }

    /**
     * Sets listeners that also call those of the application. If no service is configured, the application's listeners
     * are set alone.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @param restoreListener the application's own; null: none
     * @param standbyListener the application's own; null: none
     * @throws IllegalStateException if the application has been started
     */
    public static void attach(
            KafkaStreams streams,
            Map<?, ?> configs,
            StateRestoreListener restoreListener,
            StandbyUpdateListener standbyListener) {
        ProgressListener listener =
                new ProgressListener(createCopies(streams, configs), restoreListener, standbyListener);
        streams.setGlobalStateRestoreListener(listener);
        streams.setStandbyUpdateListener(listener);
    }

    /** Reads the configuration; null: no service is to be told. */
    private static RestoringCopies createCopies(KafkaStreams streams, Map<?, ?> configs) {
        Map<String, Object> named = new HashMap<>();
        configs.forEach((key, value) -> named.put(String.valueOf(key), value));
        String application = PluginConfig.findApplication(named);
        PluginConfig config;
        try {
            config = PluginConfig.forApplication(named);
        } catch (ConfigException e) {
            LOG.error(
                    "optassign: application={} progress: {}; the service is not told how far copies are",
                    application,
                    ServiceFailure.toOneLine(e.getMessage()));
            return null;
        }
        if (!config.hasService()) {
            LOG.info(
                    "optassign: application={} progress: no optassign.url, so no service is told how far copies are",
                    application);
            return null;
        }
        String instance = InstanceName.find(streams, named);
        return new RestoringCopies(new ProgressSender(config, application, instance));
    }
}
