"""Sweeps of benchmarks and replays of recorded rebalances on Spark, their results as Parquet, and the report on them."""
