"""How plans, rebalances and relief are found: by flows, by CP-SAT beside them, by a weighted sum, by greedy."""
