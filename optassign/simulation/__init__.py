"""The time after an answer: the next snapshot (`successors`), the writes until then (`growth`), rebalance after rebalance
(`rebalances`) until rest (`convergence`); random changes, graded (`histories`); an application over hours (`timed`), also from
recordings of a real one (`recorded`)."""
