/** Minimum-cost flow in networks with bounds: used for plans, the balance of each rebalance, and temporary offload. */
package io.github.optassign.flow;
