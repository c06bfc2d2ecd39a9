"""A simulated cluster: lags, restoration, faults, the rebalance protocols, scenarios."""
