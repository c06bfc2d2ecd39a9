package io.github.optassign;

import io.github.optassign.config.PluginConfig;
import io.github.optassign.config.ServiceOptions;
import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Timing;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.SnapshotWriter;
import io.github.optassign.streams.ApplicationAdmin;
import io.github.optassign.streams.Racks;
import io.github.optassign.streams.SourceEnds;
import io.github.optassign.streams.StreamsDetails;
import io.github.optassign.streams.StreamsGroup;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/** The snapshot of a group at one rebalance for the service, converted to JSON on first use. */
final class SentSnapshot {
    private final StreamsGroup group;
    private final ServiceOptions options;
    private final Instant takenAt = Instant.now();
    private final String application;
    /** The last applied answer; null if there is none, or the service refuses its date. */
    private AppliedAnswer before;
    /** Per task its partitions; empty if racks are not used or not known. */
    private List<List<Racks.Partition>> partitions = List.of();
    /** Per task the sum of the end offsets of its source partitions; null if not asked for or not known. */
    private long[] sourceEnds;
    /** The snapshot as JSON; null if it is not written yet. */
    private byte[] body;

    /**
     * Creates the snapshot of a group, without racks and end offsets.
     *
     * @param config null if the service cannot be asked
     * @param before the last applied answer, or null if there is none
     */
    SentSnapshot(StreamsGroup group, PluginConfig config, String application, AppliedAnswer before) {
        this.group = group;
        options = config == null ? ServiceOptions.NONE : config.options();
        this.application = application;
        this.before = before;
    }

    /**
     * Finds partitions and racks, if racks are used.
     *
     * @param deadline the end of the wait, as of System.nanoTime
     */
    void findRacks(long deadline) throws ServiceFailure {
        partitions = Racks.find(group, deadline);
        body = null;
    }

    /**
     * Finds the end offsets of the tasks' input if task weights depend on its growth.
     *
     * @param deadline the end of the wait, as of System.nanoTime
     */
    void findSourceEnds(ApplicationAdmin admin, long deadline) throws ServiceFailure {
        if (options.isWeighedByRates()) {
            sourceEnds = SourceEnds.find(group, admin, deadline);
            body = null;
        }
    }

    /** Returns per task the sum of the end offsets of its source partitions, or null if not asked for or not known. */
    long[] sourceEnds() {
        return sourceEnds;
    }

    ServiceOptions options() {
        return options;
    }

    List<List<Racks.Partition>> partitions() {
        return partitions;
    }

    Timing timing() {
        return new Timing(takenAt.toEpochMilli(), options.isFollowupByInterval(), options.offloadPrices());
    }

    RackTraffic traffic() {
        return Racks.toTraffic(group, partitions);
    }

    /** Drops the last applied answer from the snapshot. */
    void forget() {
        before = null;
        body = null;
    }

    AppliedAnswer before() {
        return before;
    }

    private boolean isRememberedKnown() {
        return before != null && !before.json().isEmpty();
    }

    /** Returns the date of the last applied answer, milliseconds since 1970, or -1 if the snapshot sends none. */
    long rememberedAt() {
        return isRememberedKnown() ? before.answeredAt() : -1;
    }

    byte[] body() throws IOException {
        if (body == null) {
            String remembered = isRememberedKnown() ? before.json() : null;
            body = SnapshotWriter.write(
                    group.snapshot(),
                    new StreamsDetails(group, options, partitions, sourceEnds),
                    application,
                    takenAt,
                    remembered);
        }
        return body;
    }
}
