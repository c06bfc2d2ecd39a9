/** Kafka Streams' own types, and how they become ours and back (KIP-924). */
package io.github.optassign.streams;
