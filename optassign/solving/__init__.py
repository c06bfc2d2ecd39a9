"""From a snapshot to an answer, one way down: reading, situation, solve with methods and steps, timing, answer."""
