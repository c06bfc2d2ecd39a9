"""The CP-SAT model: variables, constraints, goals, and solving it goal by goal."""
