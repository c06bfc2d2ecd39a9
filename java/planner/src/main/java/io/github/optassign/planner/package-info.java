/**
 * The planner: an answer to a rebalance from inside the JVM, by the rules R1 to R11 of an assignment.
 *
 * <p>A caller makes a {@link io.github.optassign.model.Snapshot}, by {@link io.github.optassign.model.SnapshotBuilder}
 * if it has no other source; calls {@link io.github.optassign.planner.RebalancePlanner#answer}, which names the passes;
 * and, once the answer is applied, keeps {@link io.github.optassign.learn.AppliedAnswer#of} of it for the next call.
 * Between two calls the planner itself keeps nothing, waits for nothing and writes nothing. It knows no class of
 * Kafka's, no JSON and no service.
 */
package io.github.optassign.planner;
