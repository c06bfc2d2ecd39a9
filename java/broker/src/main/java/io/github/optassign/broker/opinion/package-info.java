/** Second opinions of a service behind the planner, requested on a background thread. */
package io.github.optassign.broker.opinion;
