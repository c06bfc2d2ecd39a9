/** Minimum-cost flow in networks with bounds: the search behind plans, balance on the way, and temporary offload. */
package io.github.optassign.flow;
