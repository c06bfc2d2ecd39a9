"""Measures of an answer: the copies of each client, how far clients are from having state, balance. No solver, no arrays."""
