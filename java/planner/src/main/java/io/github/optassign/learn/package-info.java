/** What the last answer tells of a rebalance: the previous assignment, and rates as in the service's rates.py. */
package io.github.optassign.learn;
