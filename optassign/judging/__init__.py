"""Judging an answer: rules, balance, measures, comparisons, explanations. No solver, no arrays."""
