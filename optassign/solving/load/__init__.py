"""Rebalances of tasks that weigh differently: load per thread × capacity is balanced, not counts."""
