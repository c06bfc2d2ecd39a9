/**
 * The interim assignment of this rebalance on the way to the plan: actives and standbys, temporary offload, warm-ups,
 * and the delay of the follow-up rebalance.
 *
 * <p>The <em>answer</em> is the assignment that this rebalance returns. A move takes two <em>passes</em> (KIP-429): in
 * the first the owner gives the task up, in the second the new client gets it. In between it is <em>in transit</em>. A
 * <em>look</em> is a follow-up at which lags tell whether copies have made progress.
 */
package io.github.optassign.step;
