/**
 * The planner, which answers a rebalance inside the JVM by the rules R1 to R11 (docs/reference/rules.md).
 *
 * <p>A caller creates a {@link io.github.optassign.model.Snapshot}, for instance by a
 * {@link io.github.optassign.model.SnapshotBuilder}, and passes it to
 * {@link io.github.optassign.planner.RebalancePlanner#answer}. Once the answer is applied, the caller keeps
 * {@link io.github.optassign.learn.AppliedAnswer#of} for the next call. The planner has no state between calls, does no
 * I/O, and depends on neither Kafka's classes nor JSON nor the service.
 */
package io.github.optassign.planner;
