"""The tables of rows that sweeps and replays write: their columns, and the Parquet files that hold them."""
