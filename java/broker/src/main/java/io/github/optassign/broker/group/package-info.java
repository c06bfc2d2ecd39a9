/** The coordinator's view of a group, in numbers: members, tasks, lags. */
package io.github.optassign.broker.group;
