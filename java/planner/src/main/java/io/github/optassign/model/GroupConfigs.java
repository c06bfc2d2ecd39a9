package io.github.optassign.model;

/**
 * The configurations of Kafka Streams that rules and goals depend on.
 *
 * @param acceptableRecoveryLag {@code acceptable.recovery.lag}, offsets
 * @param maxWarmupReplicas {@code max.warmup.replicas}
 * @param numStandbyReplicas {@code num.standby.replicas}
 * @param probingRebalanceIntervalMs {@code probing.rebalance.interval.ms}
 * @param looseBalance whether plans of the service may exceed shares: by preset weighted, a balance factor, or weights
 *     of tasks
 * @param movesInOnePass whether a moving task has an owner at every rebalance, as under KIP-1071, where the broker
 *     carries out the target assignment. Under KIP-429 it has no owner between two passes
 */
public record GroupConfigs(
        long acceptableRecoveryLag,
        int maxWarmupReplicas,
        int numStandbyReplicas,
        long probingRebalanceIntervalMs,
        boolean looseBalance,
        boolean movesInOnePass) {
    /** Returns the delay of a follow-up that waits for the probing interval, ms. */
    public long followupIntervalMs() {
        return Timing.clampFollowupMs(probingRebalanceIntervalMs);
    }
}
