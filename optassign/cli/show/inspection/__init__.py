"""The report of `optassign inspect`: in a terminal, and as a page."""
