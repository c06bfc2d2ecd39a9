"""The target as one integer program, in the letters of docs/explanation/model.md, "Target".

`question.py` says what is asked. `variables.py` declares y, a, p, q and m of that page, and `constraints.py` adds the rows.
`solver.py` writes goals as linear forms and minimises them in their order, by CP-SAT or by HiGHS and duals.
`deal.py` gives the places of pools to tasks, and `search.py` puts all together.

An answer for this very rebalance has the same rows: R3 and R5 take candidates away, as bounds of variables. A place that is not
merged is *separate*. Each subtopology has a pool in each zone. In addition to R2 between pooled copies, the program leaves
out the upper bounds of merged places.
"""
