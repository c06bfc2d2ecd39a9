/** What a JVM tells by JMX of the rebalances that it has answered: an application's leader, or a broker. */
package io.github.optassign.metrics;
