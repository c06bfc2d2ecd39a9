/** The service behind the planner, asked for a second opinion on a thread that no other thread waits for. */
package io.github.optassign.broker.opinion;
