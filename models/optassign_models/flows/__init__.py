"""Minimum-cost flows: exact, in lexicographic order."""
