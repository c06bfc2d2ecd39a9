"""What follows an answer: the next snapshot (`successors`), and rebalance after rebalance until rest (`convergence`)."""
