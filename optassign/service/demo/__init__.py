"""`optassign serve --demo`: a day of simulated rebalances of a few applications, to explore."""
