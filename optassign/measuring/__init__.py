"""Measures of a snapshot and an answer: copies of each client, balance, load, moves, spread, outlook. No solver, no arrays."""

ASSUMED_RATE = 10_000
"""Offsets per second that a client restores while its rate is unknown. A disk and a network of 2020 do more."""
