"""Simulations of what follows an answer.

`successors` makes the next snapshot, `convergence` repeats rebalances until the group is stable, `history` and
`history_playing` draw random changes and grade the answers to them, `timed` simulates an application over hours, and `recorded`
makes such a scenario from recordings.
"""
