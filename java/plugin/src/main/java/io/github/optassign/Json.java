package io.github.optassign;

import com.fasterxml.jackson.core.JsonFactory;

/** The one JSON factory: it keeps buffers for reuse and may be used by all threads. */
final class Json {
    static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}
}
