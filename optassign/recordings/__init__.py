"""Recorded rebalances: what is in one, where they lie, the same without names."""
