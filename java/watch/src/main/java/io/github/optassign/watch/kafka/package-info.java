/** What Kafka is asked, and how a group is triggered. */
package io.github.optassign.watch.kafka;
