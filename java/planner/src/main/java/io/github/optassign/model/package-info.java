/**
 * The data of one rebalance and its answer in arrays, and measures of them: ranks of clients, imbalance and restore
 * work.
 *
 * <p>Tasks and clients are denoted by indices. In all arrays and parameters {@code t} is the index of a task, {@code c}
 * of a client, {@code g} of a subtopology and {@code k} of a configured tag. The package makes no decisions and depends
 * on neither Kafka's classes nor JSON nor the service.
 */
package io.github.optassign.model;
