"""The snapshot that follows an answer, and rebalance after rebalance until a group is at rest. No faults, no clock."""
