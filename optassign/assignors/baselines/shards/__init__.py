"""What `weighted_shards` is made of: weights, the routing table, and the moves of one rebalance."""
