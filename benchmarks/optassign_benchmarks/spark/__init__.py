"""Benchmark sweeps and the replay of recorded rebalances on Spark, their results as Parquet, and the report on them."""
