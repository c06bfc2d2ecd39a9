/** The progress of this instance's copies between rebalances, from Kafka Streams' listeners to the service. */
package io.github.optassign.progress;
