"""What an operator asks of a rebalance: to hold still, to let a client drain, to keep limits (docs/reference/rules.md,
"Pauses")."""
