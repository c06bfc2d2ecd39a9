"""What follows an answer: the next snapshot (`successors`), what is written until then (`growth`), rebalance after rebalance
(`rebalances`) until rest (`convergence`); random changes, graded (`histories`); an application over hours (`timed`), also from
what a real one recorded (`recorded`)."""
