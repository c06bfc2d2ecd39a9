/**
 * Clients exchange the copies of a plan along circles, while that is better:
 * {@link io.github.optassign.exchange.Exchange} finds the circles, its kinds say which copies may go where and what
 * they weigh.
 */
package io.github.optassign.exchange;
