/** The memory of an application from one rebalance to the next. Nothing here knows a class of Kafka's. */
package io.github.optassign.memory;
