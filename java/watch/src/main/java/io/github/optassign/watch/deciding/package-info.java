/** Whether a group shall be assigned once more: functions of what is seen and of the time, without Kafka. */
package io.github.optassign.watch.deciding;
