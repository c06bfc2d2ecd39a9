/**
 * The measures of the planner and its checks: how far clients are caught up, how far counts are from balance, how much
 * has to be restored.
 *
 * <p>Nothing here decides anything, or knows a class of Kafka's, JSON or the service.
 */
package io.github.optassign.measuring;
