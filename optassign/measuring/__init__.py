"""What can be read off an answer: who has which copy, how far clients are from having state, balance. No solver, no arrays."""
