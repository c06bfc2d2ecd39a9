/**
 * Offload of clients that have too many active tasks on the way to the plan (docs/reference/rules.md, "Temporary
 * offload"). The same as {@code optassign_models/offload.py} has it for the service. Nothing here knows a class of
 * Kafka's.
 */
package io.github.optassign.offload;
