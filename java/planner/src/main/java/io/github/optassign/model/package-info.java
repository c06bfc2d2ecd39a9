/**
 * One rebalance and its answer in arrays: tasks and clients are indices from here on.
 *
 * <p>Nothing here knows a class of Kafka's, JSON or how an answer is found. In all arrays and parameters {@code t} is
 * the index of a task, {@code c} that of a client and {@code g} that of a subtopology.
 */
package io.github.optassign.model;
