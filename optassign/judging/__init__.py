"""Judging an answer: rules, measures, comparison, explanation. No solver, no arrays."""
