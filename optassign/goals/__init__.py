"""The goals of an answer: one file for each goal of the plan, with all but its model, and `rebalance.py` with those on its way.

A goal's model (its value in arrays, its CP-SAT expression) is in the file of the same name in optassign_models/goals/.
`registry.py` finds the files; there is no list of goals besides.
"""
