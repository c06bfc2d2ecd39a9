/**
 * The plug-in for Kafka Streams. An application names {@link io.github.optassign.OptassignTaskAssignor} in its
 * configuration, and may call its {@code check}; all other classes are not for applications and may change.
 *
 * <ul>
 *   <li>{@code config}: the plug-in's own configuration
 *   <li>{@code model}: one rebalance and its answer, in arrays
 *   <li>{@code learn}: the memory from one rebalance to the next
 *   <li>{@code streams}: Kafka Streams' types, and their conversion to optassign's and back
 *   <li>{@code service}: the way to the service and back
 *   <li>{@code planner}: the fallback, where the service gives no answer
 * </ul>
 */
package io.github.optassign;
