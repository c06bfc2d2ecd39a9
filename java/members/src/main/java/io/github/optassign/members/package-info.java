/**
 * Members of a streams group that exist for the coordinator only: the exact protocol, and restoring that is arithmetic.
 *
 * <p>{@link io.github.optassign.members.MembersMain} says how they are told what to do and what they tell.
 */
package io.github.optassign.members;
