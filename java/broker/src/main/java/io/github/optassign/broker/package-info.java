/**
 * The assignor of a broker (KIP-1357): {@link io.github.optassign.broker.OptassignGroupAssignor} is the class that
 * {@code group.streams.assignors} names.
 *
 * <p>It runs on a thread of the group coordinator, Kafka does not check its answer, and an exception would end the
 * application. So the assignor does not block, performs no I/O except logging, and answers even after a failure.
 *
 * <p>The steps of a call: {@link io.github.optassign.broker.group.BrokerGroup} reads the group,
 * {@link io.github.optassign.broker.Planning} decides for processes, {@link io.github.optassign.broker.dealing.Threads}
 * distributes copies to threads. A request to the service is queued in
 * {@link io.github.optassign.broker.opinion.OpinionRequests} afterwards.
 */
package io.github.optassign.broker;
