"""What follows an answer: the next snapshot (`successors`), what is written until then (`growth`), and rebalance after
rebalance until rest (`convergence`)."""
