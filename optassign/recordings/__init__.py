"""Recorded rebalances: the contents of a recording, its file, and snapshots without names."""
