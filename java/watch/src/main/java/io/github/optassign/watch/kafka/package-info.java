/** The requests to Kafka, and the config change that triggers a group. */
package io.github.optassign.watch.kafka;
