"""One rebalance in arrays: situation, plan by a method, step with warm-ups and offload, follow-up."""
