/**
 * Kafka's own task assignors, unmodified, run on snapshots in the format of {@code optassign}.
 *
 * <p>The steps of a request: {@link io.github.optassign.baselines.SnapshotJson} reads the JSON,
 * {@link io.github.optassign.baselines.BaselineApplication} converts it into Kafka's types, a
 * {@link io.github.optassign.baselines.Baseline} prepares and makes the call,
 * {@link io.github.optassign.baselines.BaselineTiming} repeats and times it.
 */
package io.github.optassign.baselines;
