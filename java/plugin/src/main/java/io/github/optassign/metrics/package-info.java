/** What an application's JVM tells by JMX of the rebalances that its plug-in has led. */
package io.github.optassign.metrics;
