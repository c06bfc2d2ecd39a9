"""One rebalance in arrays, one way down: situation, plan by a method, step with warm-ups and offload, follow-up."""
