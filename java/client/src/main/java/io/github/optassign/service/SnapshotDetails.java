package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** The details of a snapshot for the service that planners do not use, or that depend on the snapshot's source. */
public interface SnapshotDetails {
    /** Writes the fields of the snapshot itself that stand before its tasks: {@code configs} and {@code options}. */
    void writeConfigs(JsonGenerator json) throws IOException;

    /** Writes more fields of a task. */
    default void writeTask(JsonGenerator json, int t) throws IOException {}

    /** Writes more fields of a client. */
    default void writeClient(JsonGenerator json, int c) throws IOException {}
}
