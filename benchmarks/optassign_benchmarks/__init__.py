"""Benchmarks: the studies behind docs/data, sweeps and replays on Spark, a real Kafka cluster, digests of answers."""
