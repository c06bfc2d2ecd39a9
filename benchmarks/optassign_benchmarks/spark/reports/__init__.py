"""The report on a run: tables with their queries, and pictures."""
