/**
 * The broker's assignors of {@code group.protocol=streams} (KIP-1071), of 4.3 and of 4.4: the classes have the same
 * name and differ in interface and in what they do.
 *
 * <p>A {@link io.github.optassign.baselines.broker.BaselineMember} is a thread. A subtopology has partitions 0 to n - 1
 * there, so gaps in the numbers of a snapshot's tasks are closed on the way in and opened on the way out
 * ({@link io.github.optassign.baselines.broker.Subtopologies}).
 */
package io.github.optassign.baselines.broker;
