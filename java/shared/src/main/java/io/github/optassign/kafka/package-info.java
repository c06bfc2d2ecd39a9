/**
 * Kafka Streams' default assignor, run as Kafka runs it. The sources are part of two modules: the plug-in, which runs it in
 * shadow mode, and the baselines. They use Kafka's internal classes; no other code of the plug-in does.
 */
package io.github.optassign.kafka;
