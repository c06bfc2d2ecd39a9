"""Benchmarks: the studies behind docs/benchmarks.md, sweeps and replays on Spark, a real Kafka cluster, digests of answers."""
