/** From an answer of processes to one of their threads, and whether it may be given to Kafka. */
package io.github.optassign.broker.dealing;
