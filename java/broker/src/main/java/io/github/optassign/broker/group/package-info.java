/** The coordinator's view of a group: members, tasks and lags. */
package io.github.optassign.broker.group;
