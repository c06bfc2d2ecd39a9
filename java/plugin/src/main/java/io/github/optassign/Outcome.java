package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.TimeWithoutProgress;
import io.github.optassign.metrics.RebalanceFigures;
import io.github.optassign.service.AppliedReport;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * The outcome of one rebalance: the assignment for Kafka, and the records to keep once Kafka has accepted it.
 *
 * @param toRemember the applied answer, for the next rebalance; null if the group has no client
 * @param withoutProgress the time since follow-ups last brought progress; null if it is not counted
 * @param report the report to the service; null if the service decided, none is configured, or its creation failed
 * @param figures the rebalance in numbers; null if the group has no client
 */
record Outcome(
        TaskAssignment assignment,
        AppliedAnswer toRemember,
        TimeWithoutProgress withoutProgress,
        AppliedReport report,
        RebalanceFigures figures) {}
