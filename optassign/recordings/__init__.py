"""Recorded rebalances: what is in a recording, where the files lie, and a snapshot without its names."""
