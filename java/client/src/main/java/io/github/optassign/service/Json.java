package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonFactory;

/**
 * The JSON factory of all threads. It keeps no buffers in thread locals, since those of an application's threads would
 * keep this jar's class loader from being collected.
 */
public final class Json {
    public static final JsonFactory FACTORY = JsonFactory.builder()
            .disable(JsonFactory.Feature.USE_THREAD_LOCAL_FOR_BUFFER_RECYCLING)
            .build();

    private Json() {}
}
