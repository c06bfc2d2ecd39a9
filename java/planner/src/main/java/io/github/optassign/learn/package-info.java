/**
 * What the last answer tells about a rebalance: the previous assignment, and the rates at which clients restore. The
 * rates are those of {@code rates.py} in models/optassign_models/solving, so that an answer may be the service's and
 * the next one the planner's. Nothing here knows a class of Kafka's.
 */
package io.github.optassign.learn;
