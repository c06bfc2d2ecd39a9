"""Analyses of the target of one snapshot: its model as a file, the price of limits, and the price of balance."""
