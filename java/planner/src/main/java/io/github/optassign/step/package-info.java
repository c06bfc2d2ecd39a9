/** This rebalance, on the way to the plan: copies, warm-ups, temporary offload, and when the next is due. */
package io.github.optassign.step;
