/** The planner as a process for benchmarks in Python, which reads snapshots and writes answers through pipes. */
package io.github.optassign.server;
