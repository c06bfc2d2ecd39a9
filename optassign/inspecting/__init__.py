"""A running Kafka Streams group seen from outside: what its members sent and got in the last rebalance, as a snapshot."""
