"""The studies behind docs/data; `STUDIES` in optassign_benchmarks/__main__.py lists them.

A study is a record of `optassign_benchmarks.runner`, or several: a `Study` of snapshots, or a `PlayedStudy` of processes.
"""
