"""The goals of an answer: `plan/` has those of the target, `rebalance.py` those of this rebalance on its way to the target.

A goal names a measure, its place in the order, and the data of its model. The model is in the file of the same name in
optassign_models/goals/. `order.py` finds the files; there is no other list of goals.
"""
