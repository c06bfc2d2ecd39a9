/** Which copies of a plan are warmed up in this rebalance, and in what order the others wait. */
package io.github.optassign.warmups;
