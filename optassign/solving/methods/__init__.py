"""How plans, rebalances and offload are found: by flows, by CP-SAT beside them, by a weighted sum, by greedy."""
