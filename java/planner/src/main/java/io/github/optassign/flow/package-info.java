/** Minimum-cost flow with bounds, used for plans, the balance of actives in each rebalance, and temporary offload. */
package io.github.optassign.flow;
