"""The studies behind docs/benchmarks.md, one file each; `STUDIES` in optassign_benchmarks/__main__.py lists them.

Each has a function `run()`, which returns its table as Markdown, and a line for each result that is not as it should be. One
that takes long may take `quick`, for a smaller run.
"""
