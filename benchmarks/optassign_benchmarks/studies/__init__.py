"""The studies behind docs/data; `STUDIES` in optassign_benchmarks/__main__.py lists them.

A study is a record (`optassign_benchmarks.runner.Study`): cases, assignors, measures, tables. One that starts processes, or
that plays something of its own, is a function. It returns tables and a line for each result that misses what the study
demands; if it takes long it may take `quick`, for a smaller run.
"""
