/** Kafka Streams' own types, and their conversion to optassign's and back (KIP-924). */
package io.github.optassign.streams;
