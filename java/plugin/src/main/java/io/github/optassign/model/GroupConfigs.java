package io.github.optassign.model;

/**
 * The configurations of Kafka Streams that rules and goals depend on.
 *
 * @param acceptableRecoveryLag {@code acceptable.recovery.lag}, offsets
 * @param maxWarmupReplicas {@code max.warmup.replicas}
 * @param numStandbyReplicas {@code num.standby.replicas}
 * @param probingRebalanceIntervalMs {@code probing.rebalance.interval.ms}
 */
public record GroupConfigs(
        long acceptableRecoveryLag, int maxWarmupReplicas, int numStandbyReplicas, long probingRebalanceIntervalMs) {}
