/**
 * Kafka's own task assignors, unmodified, run on snapshots in the format of {@code optassign}.
 *
 * <p>From a request to its answer: {@link io.github.optassign.baselines.SnapshotJson} reads the JSON,
 * {@link io.github.optassign.baselines.BaselineApplication} says the same in Kafka's terms, one
 * {@link io.github.optassign.baselines.Baseline} per Kafka class prepares and makes the call,
 * {@link io.github.optassign.baselines.BaselineTiming} repeats and times it.
 */
package io.github.optassign.baselines;
