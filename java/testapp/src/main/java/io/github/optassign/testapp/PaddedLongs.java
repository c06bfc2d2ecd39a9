package io.github.optassign.testapp;

import java.nio.ByteBuffer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/**
 * A serde of numbers that take {@code bytes} bytes each, so that few records make much state.
 *
 * @param bytes the size of a number, 8 or more; the bytes after the number are zero
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
