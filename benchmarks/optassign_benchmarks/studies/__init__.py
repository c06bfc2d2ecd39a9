"""The studies behind docs/data, one file each; `STUDIES` in optassign_benchmarks/__main__.py lists them.

Each has a function `run()`, which returns its tables, and a line for each result that misses what the study demands. One
that takes long may take `quick`, for a smaller run.
"""
