/**
 * The fallback: answers of the plug-in's own where the service gives none.
 *
 * <p>{@link io.github.optassign.planner.Fallback} names the passes. Nothing here knows a class of Kafka's, JSON or the
 * service. R1 to R11 are the rules of an assignment.
 */
package io.github.optassign.planner;
