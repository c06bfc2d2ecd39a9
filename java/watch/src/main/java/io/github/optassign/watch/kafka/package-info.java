/** The requests to Kafka, and the trigger of a group. */
package io.github.optassign.watch.kafka;
