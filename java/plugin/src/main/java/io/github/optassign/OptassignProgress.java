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
 * The report of this instance's restore progress to the service, so that its page shows warm-ups live. An application
 * attaches its listeners once, before it starts:
 *
 * <pre>
 * KafkaStreams streams = new KafkaStreams(topology, properties);
 * OptassignProgress.attach(streams, properties);
 * streams.start();
 * </pre>
 *
 * <p>Otherwise the page shows the lags of the last rebalance. Kafka Streams accepts one listener of each kind, so an
 * application passes its own listeners to {@link #attach(KafkaStreams, Map, StateRestoreListener,
 * StandbyUpdateListener)}.
 */
public final class OptassignProgress {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignProgress.class);

    private OptassignProgress() {}

    /**
     * Sets the listeners of an application without listeners of its own.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @throws IllegalStateException if the application has been started
     */
    public static void attach(KafkaStreams streams, Map<?, ?> configs) {
        attach(streams, configs, null, null);
    }

    /**
     * Sets listeners that also call the application's own. If no service is configured, the application's listeners are
     * set alone.
     *
     * @param configs the application's Streams configuration, such as its Properties
     * @param restoreListener the application's own listener, or null
     * @param standbyListener the application's own listener, or null
     * @throws IllegalStateException if the application has been started
     */
    public static void attach(
            KafkaStreams streams,
            Map<?, ?> configs,
            StateRestoreListener restoreListener,
            StandbyUpdateListener standbyListener) {
        RestoringCopies copies = createCopies(streams, configs);
        if (copies == null) {
            streams.setGlobalStateRestoreListener(restoreListener);
            streams.setStandbyUpdateListener(standbyListener);
            return;
        }
        ProgressListener listener = new ProgressListener(copies, restoreListener, standbyListener);
        streams.setGlobalStateRestoreListener(listener);
        streams.setStandbyUpdateListener(listener);
    }

    /**
     * Creates the record of restoring copies, which sends their progress to the service.
     *
     * @return null if no service is configured or the configuration is invalid
     */
    private static RestoringCopies createCopies(KafkaStreams streams, Map<?, ?> configs) {
        Map<String, Object> named = new HashMap<>();
        configs.forEach((key, value) -> named.put(String.valueOf(key), value));
        String application = PluginConfig.findApplication(named);
        PluginConfig config;
        try {
            config = PluginConfig.forApplication(named);
        } catch (ConfigException e) {
            LOG.error(
                    "optassign: application={} progress: {}; no progress is sent to a service",
                    application,
                    ServiceFailure.toOneLine(e.getMessage()));
            return null;
        }
        if (!config.hasService()) {
            LOG.info(
                    "optassign: application={} progress: no optassign.url, so no progress is sent to a service",
                    application);
            return null;
        }
        String instance = InstanceName.find(streams, named);
        return new RestoringCopies(new ProgressSender(config, config.application(), instance));
    }
}
