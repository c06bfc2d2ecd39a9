"""The parts of `weighted_shards`: weights, the routing table, and the moves of one rebalance."""
