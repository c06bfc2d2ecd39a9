/** The watcher's metrics for Prometheus. */
package io.github.optassign.watch.metrics;
