package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonFactory;

/**
 * Holds the one JSON factory, which all threads may use. It keeps no buffers in thread locals: those of an
 * application's threads would keep the class loader of this jar.
 */
public final class Json {
    public static final JsonFactory FACTORY = JsonFactory.builder()
            .disable(JsonFactory.Feature.USE_THREAD_LOCAL_FOR_BUFFER_RECYCLING)
            .build();

    private Json() {}
}
