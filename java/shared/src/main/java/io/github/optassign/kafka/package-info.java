/**
 * Kafka Streams' default assignor, called as Kafka calls it. Two modules compile these sources: the plug-in, for shadow
 * mode, and the baselines. They use Kafka's internal classes.
 */
package io.github.optassign.kafka;
