/**
 * The planner's memory from one rebalance to the next: the last answer, the rates at which clients restore and input
 * grows, and the failures of the service. The restore rates are those of {@code rates.py} in
 * models/optassign_models/solving, so that an answer may be the service's and the next one the planner's. Nothing here
 * knows a class of Kafka's.
 */
package io.github.optassign.learn;
