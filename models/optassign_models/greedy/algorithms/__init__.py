"""Algorithms that the greedy methods are made of, one file each: they know arrays and soft shares, but no rules and no goals.

All are deterministic: they depend on nothing but their arguments, and limits are numbers of steps, never times.
"""
