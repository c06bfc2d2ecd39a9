package io.github.optassign.progress;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.github.optassign.service.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;

/** The name of this instance in snapshots. Kafka Streams does not expose it to applications. */
public final class InstanceName {
    private static final String PROCESS_FILE = "kafka-streams-process-metadata";
    private static final String THREAD = "-StreamThread-";

    private InstanceName() {}

    /**
     * Returns the process id, from the state folder or the client id that Kafka Streams generates. Without a process
     * id, returns {@code group.instance.id} or {@code client.id}, which snapshots have as {@code client_id}.
     */
    public static String find(KafkaStreams streams, Map<String, ?> configs) {
        String written = readProcessId(configs);
        if (written != null) {
            return written;
        }
        String clientId = findClientId(streams);
        String generated = configs.get(StreamsConfig.APPLICATION_ID_CONFIG) + "-";
        if (configs.get(StreamsConfig.CLIENT_ID_CONFIG) == null && clientId.startsWith(generated)) {
            return clientId.substring(generated.length());
        }
        for (String prefix : new String[] {StreamsConfig.MAIN_CONSUMER_PREFIX, StreamsConfig.CONSUMER_PREFIX, ""}) {
            Object name = configs.get(prefix + ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
            if (name != null) {
                return name.toString();
            }
        }
        return clientId;
    }

    private static String findClientId(KafkaStreams streams) {
        return streams.metadataForLocalThreads().stream()
                .map(thread -> thread.threadName())
                .filter(name -> name.contains(THREAD))
                .map(name -> name.substring(0, name.lastIndexOf(THREAD)))
                .findFirst()
                .orElse("");
    }

    /**
     * Reads the process id from the file that Kafka writes if a store is persistent.
     *
     * @return null if the file is missing or invalid
     */
    private static String readProcessId(Map<String, ?> configs) {
        try {
            Object given = configs.get(StreamsConfig.STATE_DIR_CONFIG);
            String folder = given == null
                    ? Path.of(System.getProperty("java.io.tmpdir"), "kafka-streams")
                            .toString()
                    : given.toString();
            Path file = Path.of(folder, String.valueOf(configs.get(StreamsConfig.APPLICATION_ID_CONFIG)), PROCESS_FILE);
            if (!Files.isRegularFile(file)) {
                return null;
            }
            try (JsonParser json = Json.FACTORY.createParser(Files.readAllBytes(file))) {
                while (json.nextToken() != null) {
                    if (json.currentToken() == JsonToken.FIELD_NAME && "processId".equals(json.currentName())) {
                        return json.nextTextValue();
                    }
                }
            }
        } catch (IOException | InvalidPathException | SecurityException e) {
            return null; // the client id is a less reliable name of the instance
        }
        return null;
    }
}
