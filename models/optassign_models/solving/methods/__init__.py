"""The methods that find plans, rebalances and offload: flows, CP-SAT in addition, a weighted sum, greedy."""
