/**
 * Simulated members of a streams group. They follow the exact protocol, and restoration is only computed.
 *
 * <p>{@link io.github.optassign.members.MembersMain} describes their commands and events.
 */
package io.github.optassign.members;
