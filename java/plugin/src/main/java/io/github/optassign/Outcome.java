package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.TimeWithoutProgress;
import io.github.optassign.metrics.RebalanceFigures;
import io.github.optassign.service.AppliedReport;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * The outcome of one rebalance: the assignment for Kafka, and the records to keep once Kafka has taken it.
 *
 * @param toRemember null if there was no client
 * @param withoutProgress the time since follow-ups last brought progress; null if it is not counted
 * @param report the report to the service; null if none is due
 * @param figures the rebalance in numbers; null if there was no client
 */
record Outcome(
        TaskAssignment assignment,
        AppliedAnswer toRemember,
        TimeWithoutProgress withoutProgress,
        AppliedReport report,
        RebalanceFigures figures) {}
