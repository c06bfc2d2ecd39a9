/** What was done, for who scrapes it. */
package io.github.optassign.watch.metrics;
