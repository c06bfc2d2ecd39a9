"""Operators' requests: what is in force, what a snapshot gets of it, and the rebalances that they wait for."""
