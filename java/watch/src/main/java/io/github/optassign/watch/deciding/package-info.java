/** Whether a group has to be assigned once more: functions of the readings and of the time, without Kafka. */
package io.github.optassign.watch.deciding;
