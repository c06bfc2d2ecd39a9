/**
 * When a follow-up is due, by what the times between answers have taught. The same as {@code rates.py} and
 * {@code followups.py} in models/optassign_models/solving, so that an answer may be the service's and the next one the
 * planner's. Nothing here knows a class of Kafka's.
 */
package io.github.optassign.timing;
