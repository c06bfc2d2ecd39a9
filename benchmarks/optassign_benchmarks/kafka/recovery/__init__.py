"""The recovery of an application on a real broker after an event: its state before, samples, and their judgement."""
