"""The commands that need the distribution `optassign-benchmarks`: only this package imports `optassign_benchmarks`."""
