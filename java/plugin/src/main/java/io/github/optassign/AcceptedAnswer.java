package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * An answer to a rebalance that Kafka accepts.
 *
 * @param answer the copies and follow-ups
 * @param plan the placement that the group moves towards; null if unknown
 * @param toRemember the record to remember once Kafka has accepted the answer
 * @param converted the copies in Kafka's types, accepted by Kafka's own validation
 * @param hasOwnFollowups whether Kafka gets {@code converted} unchanged; otherwise follow-ups are added to it
 */
record AcceptedAnswer(
        CheckedAnswer answer,
        Placement plan,
        AppliedAnswer toRemember,
        TaskAssignment converted,
        boolean hasOwnFollowups) {}
