"""An operator's requests to a rebalance: pause, drain a client, keep limits (docs/reference/rules.md, "Pauses")."""
