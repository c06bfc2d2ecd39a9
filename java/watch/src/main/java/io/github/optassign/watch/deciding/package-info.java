/** The decision whether a group is triggered: functions of looks and of the time, without Kafka. */
package io.github.optassign.watch.deciding;
