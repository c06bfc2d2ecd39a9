"""Simulations of the time after an answer.

`successors` makes the next snapshot, and `convergence` repeats rebalances until the group is stable. `history` and
`history_playing` draw random changes and grade the answers to them. `timed` simulates a scenario of hours, and `recorded` makes
such a scenario from recordings.
"""
