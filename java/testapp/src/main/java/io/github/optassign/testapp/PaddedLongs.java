package io.github.optassign.testapp;

import java.nio.ByteBuffer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Numbers of {@code bytes} bytes each, so that few records make much state.
 *
 * @param bytes 8 or more; the number comes first, the rest is zero
 */
record PaddedLongs(int bytes) implements Serde<Long> {
    @Override
    public Serializer<Long> serializer() {
        return (topic, number) -> number == null
                ? null
                : ByteBuffer.allocate(bytes).putLong(number).array();
    }

    @Override
    public Deserializer<Long> deserializer() {
        return (topic, data) -> data == null ? null : ByteBuffer.wrap(data).getLong();
    }
}
