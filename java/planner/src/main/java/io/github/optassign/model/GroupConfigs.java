package io.github.optassign.model;

/**
 * The configurations of Kafka Streams that rules and goals depend on.
 *
 * @param acceptableRecoveryLag {@code acceptable.recovery.lag}, offsets
 * @param maxWarmupReplicas {@code max.warmup.replicas}
 * @param numStandbyReplicas {@code num.standby.replicas}
 * @param probingRebalanceIntervalMs {@code probing.rebalance.interval.ms}
 * @param looseBalance whether the service is told that plans may be out of their windows: by preset weighted, a balance
 *     factor, or weights of tasks
 */
public record GroupConfigs(
        long acceptableRecoveryLag,
        int maxWarmupReplicas,
        int numStandbyReplicas,
        long probingRebalanceIntervalMs,
        boolean looseBalance) {}
