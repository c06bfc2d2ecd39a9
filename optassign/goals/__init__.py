"""The goals of an answer: `plan/` has those of the plan, all but their models, `rebalance.py` those on its way.

A goal's model (its value in arrays, its CP-SAT expression) is in the file of the same name in optassign_models/goals/.
`order.py` finds the files; there is no list of goals besides.
"""
