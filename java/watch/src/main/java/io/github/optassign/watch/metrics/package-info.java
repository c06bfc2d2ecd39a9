/** The metrics of actions, for scrapers. */
package io.github.optassign.watch.metrics;
