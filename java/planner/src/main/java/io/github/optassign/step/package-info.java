/**
 * This rebalance, on the way to the plan: {@link io.github.optassign.step.ThisRebalance} assigns actives and standbys,
 * {@link io.github.optassign.step.WarmupQueue} warm-ups, {@link io.github.optassign.step.Offload} moves actives off
 * crowded clients for a while, and {@link io.github.optassign.step.FollowupTime} says when the next rebalance is due.
 */
package io.github.optassign.step;
