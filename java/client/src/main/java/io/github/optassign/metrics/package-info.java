/** JMX metrics of the rebalances that this JVM has answered, as an application's leader or as a broker. */
package io.github.optassign.metrics;
