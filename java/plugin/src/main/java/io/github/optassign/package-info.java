/**
 * The plug-in for Kafka Streams. An application names {@link io.github.optassign.OptassignTaskAssignor} in its
 * configuration, and may call its {@code check} and {@link io.github.optassign.OptassignProgress}. Other classes are
 * not for applications and may change.
 *
 * <ul>
 *   <li>{@code config}: the plug-in's own configuration
 *   <li>{@code learn}: the memory from one rebalance to the next
 *   <li>{@code streams}: Kafka Streams' types, and their conversion to optassign's and back
 *   <li>{@code shadow}: the assignors of a group in shadow mode
 *   <li>{@code progress}, {@code reports}: what the service is told between and after rebalances
 * </ul>
 */
package io.github.optassign;
