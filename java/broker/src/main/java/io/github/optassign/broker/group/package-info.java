/** What the coordinator says of a group, in numbers: members, tasks, lags. */
package io.github.optassign.broker.group;
