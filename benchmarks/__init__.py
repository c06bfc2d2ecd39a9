"""Benchmarks: every assignor on a grid of snapshots and seeds, judged by the same measures."""
