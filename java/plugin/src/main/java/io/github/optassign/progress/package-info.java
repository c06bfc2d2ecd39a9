/** Progress of the copies on this instance between two rebalances, from Kafka Streams' listeners to the service. */
package io.github.optassign.progress;
