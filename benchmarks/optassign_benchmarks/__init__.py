"""Benchmarks: the studies behind docs/data, sweeps and replays on Spark, a real Kafka cluster, and digests of answers."""
