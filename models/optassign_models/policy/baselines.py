"""Baselines of this project: a chain of goals in the way of Cruise Control, and shards in the way of Elasticsearch.

Made from policy.toml by `make policy`.
"""

BATCH = 50
"""The number of moves that are tried by themselves, then as halves of swaps, before the next ones. Swaps of the best moves come
before worse moves. [steps]"""
MOST_BATCHES = 40
"""The number of batches of moves that are tried to repair one count. It bounds the time. [rounds]"""
MOST_SWAP_BATCHES = 2
"""The number of batches of swaps that are tried to repair one count. It bounds the time. [rounds]"""
CHAIN_PASSES = 6
"""The number of passes of the whole chain. The next rebalance goes on with the rest. [rounds]"""
CHAIN_PATIENCE = 10
"""The number of counts that may stay out of their shares before the search for a balanced answer gives up. It bounds the time.
[entries]"""
SHARD_TOLERANCE = 0.001
"""The distance from Elasticsearch's threshold that does not exceed it. Sums of fractions are not exact. [share]"""
