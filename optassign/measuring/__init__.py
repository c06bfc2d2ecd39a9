"""Measures of a snapshot and an answer: copies of each client, balance, load, moves, spread, outlook. No solver, no arrays."""
