"""Analyses of the target of one snapshot: its model as a file, the price of limits, and the price of balance."""

FRONT_POINTS = 20
"""The number of targets of a Pareto front, unless another one is asked for. A table and a picture show them well."""
