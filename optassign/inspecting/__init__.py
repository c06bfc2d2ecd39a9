"""Inspect a running Kafka Streams group from outside: its members' messages in the last rebalance, as a snapshot."""
