"""The time after an answer: the next snapshot and the writes until then (`successors`), rebalance after rebalance until rest
(`convergence`); random changes, graded (`history`); an application over hours (`timed`), also from recordings of a real one
(`recorded`)."""
