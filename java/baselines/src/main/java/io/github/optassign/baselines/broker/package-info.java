/**
 * The broker's assignors of {@code group.protocol=streams} (KIP-1071), of 4.3 and 4.4. The classes have the same name,
 * but different interfaces and behaviour.
 *
 * <p>A {@link io.github.optassign.baselines.broker.BaselineMember} is a thread. A subtopology has partitions 0 to n - 1
 * in the broker, so gaps in the numbers of a snapshot's tasks are removed from the input and restored in the answer
 * ({@link io.github.optassign.baselines.broker.Subtopologies}).
 */
package io.github.optassign.baselines.broker;
