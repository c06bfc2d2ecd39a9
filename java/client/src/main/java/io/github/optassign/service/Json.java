package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonFactory;

/** Holds the one JSON factory, which keeps buffers for reuse and may be used by all threads. */
final class Json {
    static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}
}
