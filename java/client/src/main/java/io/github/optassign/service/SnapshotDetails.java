package io.github.optassign.service;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** The fields of a snapshot's JSON that planners do not use or that depend on the snapshot's source. */
public interface SnapshotDetails {
    /** Writes the fields before the tasks: {@code configs} and {@code options}. */
    void writeConfigs(JsonGenerator json) throws IOException;

    /** Writes more fields of a task. */
    default void writeTask(JsonGenerator json, int t) throws IOException {}

    /** Writes more fields of a client. */
    default void writeClient(JsonGenerator json, int c) throws IOException {}
}
