"""The goals of an answer. One file per goal, in `plan/` and `rebalance/`, holds all that is to be known of it but its model.

A goal's model (its value in arrays, its CP-SAT expression) is in the file of the same name in optassign_models/goals/.
`registry.py` finds the files; there is no list of goals besides.
"""
