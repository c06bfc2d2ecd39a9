"""The studies behind docs/benchmarks.md, one file each."""
