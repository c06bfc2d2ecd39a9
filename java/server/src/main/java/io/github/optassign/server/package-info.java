/** Runs the planner for benchmarks in Python: snapshots come in by a pipe, and answers go out. */
package io.github.optassign.server;
