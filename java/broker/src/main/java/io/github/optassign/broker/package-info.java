/**
 * The assignor of a broker (KIP-1357): {@link io.github.optassign.broker.OptassignGroupAssignor} is the class that
 * {@code group.streams.assignors} names.
 *
 * <p>It runs on the coordinator's only thread, Kafka does not check its answer, and an exception would end the
 * application. So nothing here waits, nothing here reads or writes but the log, and whatever goes wrong ends in an
 * answer.
 *
 * <p>From a call to its answer: {@link io.github.optassign.broker.group.BrokerGroup} reads the group,
 * {@link io.github.optassign.broker.Planning} decides for processes, {@link io.github.optassign.broker.dealing.Threads}
 * deals that to threads. {@link io.github.optassign.broker.opinion.OpinionRequests} is asked afterwards.
 */
package io.github.optassign.broker;
