"""Inspection of a running Kafka Streams group: reads the last rebalance from the brokers, as snapshot and assignment."""
