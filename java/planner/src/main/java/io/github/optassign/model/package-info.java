/**
 * One rebalance and its answer in arrays, and their measures: how far clients are caught up, how far counts are from
 * balance, how much has to be restored.
 *
 * <p>Tasks and clients are indices: in all arrays and parameters {@code t} is the index of a task, {@code c} that of a
 * client and {@code g} that of a subtopology. Nothing here decides anything, or knows a class of Kafka's, JSON or the
 * service.
 */
package io.github.optassign.model;
